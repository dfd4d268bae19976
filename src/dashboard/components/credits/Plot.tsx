import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import { formatCompact } from "../../format.ts"

export interface TipProps {
  readonly title: string
  readonly share: number
  readonly rows: ReadonlyArray<{ readonly name: string; readonly color: string; readonly value: string }>
}

const Tip = ({ rows, share, title }: TipProps) => (
  <div class={share > 0.5 ? "tip end" : "tip"} style={{ left: `${share * 100}%` }} role="status">
    <strong>{title}</strong>
    <ul class="legend">
      {rows.map(({ color, name, value }) => (
        <li key={name} style={colorStyle(color)}>
          {name} <b>{value}</b>
        </li>
      ))}
    </ul>
  </div>
)

/** Gives an element of the class `part`, or an item of a legend, a color of the stylesheet. */
export const colorStyle = (color: string) => ({ "--series": `var(--${color})` })

/** The room for the numbers beside the lines of a grid, in pixels. */
export const left = 44

export const GridLine = ({
  right,
  value,
  y
}: {
  readonly y: number
  readonly right: number
  readonly value: number
}) => (
  <g>
    <line class="grid" x1={left} x2={right} y1={y} y2={y} />
    <text x={left - 8} y={y + 4} text-anchor="end">
      {formatCompact(value)}
    </text>
  </g>
)

export interface PlotProps<Item> {
  readonly title: string
  readonly description: string
  readonly height: number
  readonly items: ReadonlyArray<Item>
  /** The index of the item at a distance in pixels from the left edge. It may be outside the list. */
  readonly indexAt: (x: number, width: number) => number
  readonly tip: (item: Item, index: number, width: number) => TipProps
  /** Receives the chosen items, as indexes: one after a click or Enter, several after dragging or Shift with arrows. */
  readonly onPick?: ((first: number, last: number) => void) | undefined
  readonly children: (width: number, chosen: Span | undefined) => ComponentChildren
}

export interface Span {
  readonly first: number
  readonly last: number
}

/** A chart as wide as its place. The pointer and the arrow keys choose the item that the tip describes. */
export const Plot = <Item,>({ children, description, height, indexAt, items, onPick, tip, title }: PlotProps<Item>) => {
  const id = useId()
  const svg = useRef<SVGSVGElement>(null)
  const [width, setWidth] = useState(720)
  const [active, setActive] = useState<number>()
  useLayoutEffect(() => {
    if (svg.current === null) return undefined
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, entry.contentRect.width)))
    observer.observe(svg.current)
    return () => observer.disconnect()
  }, [])
  const last = items.length - 1
  const item = active === undefined ? undefined : items[active]
  const [anchor, setAnchor] = useState<number>()
  const chosen =
    active === undefined
      ? undefined
      : { first: Math.min(anchor ?? active, active), last: Math.max(anchor ?? active, active) }
  const clear = (): void => {
    setActive(undefined)
    setAnchor(undefined)
  }
  const pick = (): void => {
    if (chosen !== undefined) onPick?.(chosen.first, chosen.last)
    clear()
  }
  const onPointerMove = (event: PointerEvent & { readonly currentTarget: SVGSVGElement }): void => {
    const index = indexAt(event.clientX - event.currentTarget.getBoundingClientRect().left, width)
    setActive(index >= 0 && index <= last ? index : undefined)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") clear()
    if (event.key === "Enter" && onPick !== undefined) pick()
    if ((event.key !== "ArrowRight" && event.key !== "ArrowLeft") || last < 0) return
    event.preventDefault()
    const step = event.key === "ArrowRight" ? 1 : -1
    setAnchor(event.shiftKey ? (anchor ?? active) : undefined)
    setActive(active === undefined ? last : Math.min(last, Math.max(0, active + step)))
  }
  return (
    <div class="plot">
      <svg
        ref={svg}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-labelledby={`${id}-t`}
        aria-describedby={`${id}-d`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys show the figures of each point (WCAG 2.1.1).
        tabIndex={0}
        class={onPick && "pickable"}
        onPointerMove={onPointerMove}
        onPointerDown={(event) => {
          if (onPick !== undefined && event.button === 0) setAnchor(active)
        }}
        onPointerUp={() => anchor !== undefined && pick()}
        onPointerCancel={clear}
        onPointerLeave={clear}
        onBlur={clear}
        onKeyDown={onKeyDown}
      >
        <title id={`${id}-t`}>{title}</title>
        <desc id={`${id}-d`}>{description}</desc>
        {children(width, chosen)}
      </svg>
      {item !== undefined && active !== undefined && <Tip {...tip(item, active, width)} />}
    </div>
  )
}
