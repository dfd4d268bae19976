import { useEffect, useRef } from "preact/hooks"

export type Topic = "keys" | "usage" | "billing" | "webhooks"

const tabs = new BroadcastChannel("quarry-changes")

const staleMs = 5_000

/** Makes the other tabs of this browser reload the topic. Call it after every change. */
export const changed = (topic: Topic): void => tabs.postMessage(topic)

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
    const onMessage = ({ data }: MessageEvent): void => {
      if (data === topic) read()
    }
    tabs.addEventListener("message", onMessage)
    addEventListener("focus", onReturn)
    document.addEventListener("visibilitychange", onReturn)
    return () => {
      tabs.removeEventListener("message", onMessage)
      removeEventListener("focus", onReturn)
      document.removeEventListener("visibilitychange", onReturn)
    }
  }, [topic])
}
