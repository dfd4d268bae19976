import { useEffect, useRef } from "preact/hooks"
import { tabsOf } from "./tabs.ts"

export type Topic = "keys" | "usage" | "billing" | "webhooks" | "members"

const tabs = tabsOf("quarry-changes")

const staleMs = 5_000

/** Makes the other tabs of this browser reload the topic. Call it after every change. */
export const changed = (topic: Topic): void => tabs.post(topic)

/** Reloads when another tab changes the topic, or when the user returns to this tab. */
export const useFresh = (topic: Topic, reload: () => void): void => {
  const latest = useRef(reload)
  latest.current = reload
  useEffect(() => {
    let readAt = performance.now()
    const read = (): void => {
      readAt = performance.now()
      latest.current()
    }
    const onReturn = (): void => {
      if (document.visibilityState === "visible" && performance.now() - readAt > staleMs) read()
    }
    const stop = tabs.listen((message) => {
      if (message === topic) read()
    })
    addEventListener("focus", onReturn)
    document.addEventListener("visibilitychange", onReturn)
    return () => {
      stop()
      removeEventListener("focus", onReturn)
      document.removeEventListener("visibilitychange", onReturn)
    }
  }, [topic])
}
