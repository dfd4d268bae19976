import { useEffect, useRef } from "preact/hooks"

/** Calls `read` only while the page is visible, and for at most `maxMs`. */
export const usePolling = (
  isOn: boolean,
  read: () => void,
  { everyMs, maxMs, onEnd }: { readonly everyMs: number; readonly maxMs: number; readonly onEnd?: () => void }
): void => {
  const latest = useRef({ read, onEnd })
  latest.current = { read, onEnd }
  useEffect(() => {
    if (!isOn) return undefined
    const start = performance.now()
    const timer = setInterval(() => {
      if (performance.now() - start > maxMs) {
        clearInterval(timer)
        latest.current.onEnd?.()
      } else if (document.visibilityState === "visible") latest.current.read()
    }, everyMs)
    return () => clearInterval(timer)
  }, [isOn, everyMs, maxMs])
}
