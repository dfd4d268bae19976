import { attribute, type Element, isElement, isText, namesOf, type Parent } from "./Tree.ts"

export interface Measure {
  /** Characters outside navigation, headers and footers. */
  readonly text: number
  /** The same without links and comments of readers. */
  readonly prose: number
}

const around = new Set(["nav", "header", "footer"])
const aroundRole = /^(?:navigation|banner|contentinfo)$/i
const comments = /(?:^|\s)(?:comments?|disqus|comment-?list)(?![a-z]|-(?:open|closed|enabled|disabled))/i

const isAround = (element: Element): boolean =>
  around.has(element.tagName) || aroundRole.test(attribute(element, "role") ?? "")

interface Visit {
  readonly parent: Parent
  readonly isAround: boolean
  readonly isProse: boolean
}

/** Measures all elements in one pass, because measuring each of many nested elements costs too much. */
export const measureAll = (root: Parent): ReadonlyMap<Parent, Measure> => {
  const visits: Array<Visit> = [{ parent: root, isAround: false, isProse: true }]
  for (let index = 0; index < visits.length; index++) {
    const visit = visits[index]
    if (visit === undefined) continue
    for (const node of visit.parent.childNodes) {
      if (!isElement(node)) continue
      const isProse = visit.isProse && node.tagName !== "a" && !comments.test(namesOf(node))
      visits.push({ parent: node, isAround: visit.isAround || isAround(node), isProse })
    }
  }
  const measures = new Map<Parent, Measure>()
  for (const { isAround, isProse, parent } of visits.toReversed()) {
    let [text, prose] = [0, 0]
    for (const node of parent.childNodes) {
      if (isText(node) && !isAround) {
        const { length } = node.value.trim()
        text += length
        if (isProse) prose += length
      } else if (isElement(node)) {
        text += measures.get(node)?.text ?? 0
        prose += measures.get(node)?.prose ?? 0
      }
    }
    measures.set(parent, { text, prose })
  }
  return measures
}

export const proseLength = (root: Parent): number => measureAll(root).get(root)?.prose ?? 0

/**
 * The causes that together remove at most `share` of the prose. Those that remove least come first, so that one wrong
 * cause is dropped and the others are kept (R82).
 */
export const causesWithin = <Cause>(
  share: number,
  causes: ReadonlyMap<Cause, ReadonlyArray<Element>>,
  measures: ReadonlyMap<Parent, Measure>,
  root: Parent
): ReadonlySet<Cause> => {
  const budget = share * (measures.get(root)?.prose ?? 0)
  const sizes = Array.from(causes, ([cause, elements]) => ({
    cause,
    size: elements.reduce((sum, element) => sum + (measures.get(element)?.prose ?? 0), 0)
  })).toSorted((one, other) => one.size - other.size)
  const within = new Set<Cause>()
  let taken = 0
  for (const { cause, size } of sizes) {
    taken += size
    if (taken <= budget) within.add(cause)
  }
  return within
}
