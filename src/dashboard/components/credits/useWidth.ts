import type { RefObject } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"

export const useWidth = <E extends Element>(): readonly [RefObject<E | null>, number] => {
  const element = useRef<E>(null)
  const [width, setWidth] = useState(720)
  useLayoutEffect(() => {
    if (element.current === null) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, entry.contentRect.width)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
