import { useEffect, useRef } from "preact/hooks"

/** Keeps a page true: another tab, the operator or the payment provider may change what it shows. */

export type Topic = "keys" | "usage" | "billing" | "webhooks"

const tabs = new BroadcastChannel("quarry-changes")

/** A page that comes back into view reads again what is older than this. */
const staleMs = 5_000

/** To be called after a change: the other tabs of this browser read the topic again. */
export const changed = (topic: Topic): void => tabs.postMessage(topic)

/** Reads again when another tab has changed something, and when the person comes back to this one. */
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
