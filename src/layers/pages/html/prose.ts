import { attribute, type Element, isElement, isText, namesOf, type Parent } from "./Tree.ts"

export interface Measure {
  /** Characters outside navigation, headers and footers. */
  readonly text: number
  /** The same without links and readers' comments. */
  readonly prose: number
}

const surroundingTags = new Set(["nav", "header", "footer"])
const surroundingRole = /^(?:navigation|banner|contentinfo)$/i
const comments = /(?:^|\s)(?:comments?|disqus|comment-?list)(?![a-z]|-(?:open|closed|enabled|disabled))/i

const isSurrounding = (element: Element): boolean =>
  surroundingTags.has(element.tagName) || surroundingRole.test(attribute(element, "role") ?? "")

interface Visit {
  readonly parent: Parent
  readonly isSurrounding: boolean
  readonly isProse: boolean
}

/** Measures all elements in one pass, because measuring each of many nested elements costs too much. */
export const measureAll = (root: Parent): ReadonlyMap<Parent, Measure> => {
  const visits: Array<Visit> = [{ parent: root, isSurrounding: false, isProse: true }]
  for (let index = 0; index < visits.length; index++) {
    const visit = visits[index]
    if (visit === undefined) continue
    for (const node of visit.parent.childNodes) {
      if (!isElement(node)) continue
      const isProse = visit.isProse && node.tagName !== "a" && !comments.test(namesOf(node))
      visits.push({ parent: node, isSurrounding: visit.isSurrounding || isSurrounding(node), isProse })
    }
  }
  const measures = new Map<Parent, Measure>()
  for (const { isSurrounding, isProse, parent } of visits.toReversed()) {
    let [text, prose] = [0, 0]
    for (const node of parent.childNodes) {
      if (isText(node) && !isSurrounding) {
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
 * Elements are removed for a cause, such as a word in their class. Returns the causes that together remove at most
 * `share` of the prose, starting with those that remove least: one wrong cause does not cost the others (R82).
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
