import {
  attribute,
  type Element,
  isElement,
  isTemplate,
  type Node,
  type Parent,
  type Root,
  textsOf,
  walk
} from "./Tree.ts"

/**
 * Puts content where the browser shows it without any network: segments that React streams after the page and moves
 * with a script of one call (R82), and shadow roots that are declared in the markup.
 */

const insert = (parent: Parent, index: number, count: number, nodes: ReadonlyArray<Node>): void => {
  for (const node of nodes) node.parentNode = parent
  parent.childNodes = [...parent.childNodes.slice(0, index), ...nodes, ...parent.childNodes.slice(index + count)]
}

const take = (element: Element): ReadonlyArray<Node> => {
  const content = isTemplate(element) ? element.content : element
  const nodes = content.childNodes
  content.childNodes = []
  return nodes
}

/** `$RC` completes a boundary, whose fallback goes. `$RS` fills a placeholder. `$RR` is `$RC` after loading styles. */
const call = /\$R([CRS])\(\s*"([^"\\]{1,200})"\s*,\s*"([^"\\]{1,200})"/g

interface Move {
  readonly segment: string
  readonly place: string
  readonly hasFallback: boolean
}

const movesOf = (element: Element): ReadonlyArray<Move> => {
  if (element.tagName === "script") {
    return [...textsOf(element)].join("").includes("$R")
      ? Array.from([...textsOf(element)].join("").matchAll(call), ([, name, first = "", second = ""]) =>
          name === "S"
            ? { segment: first, place: second, hasFallback: false }
            : { segment: second, place: first, hasFallback: true }
        )
      : []
  }
  // The external runtime reads the same calls from attributes.
  const segment = attribute(element, "data-sid")
  const boundary = attribute(element, "data-bid")
  const place = boundary ?? attribute(element, "data-pid")
  return segment === undefined || place === undefined ? [] : [{ segment, place, hasFallback: boundary !== undefined }]
}

/** The nodes from the boundary's template to the comment `/$` that closes it; inner boundaries are skipped. */
const countToEnd = (siblings: ReadonlyArray<Node>, start: number): number => {
  let depth = 0
  for (let index = start; index < siblings.length; index++) {
    const node = siblings[index]
    const data = node !== undefined && "data" in node ? node.data : ""
    if (/^\$[?!~]?$/.test(data)) depth++
    if (data === "/$" && depth-- === 0) return index - start
  }
  return 1
}

/** A page that moves an element into itself would make a tree without an end. */
const isInside = (element: Element, ancestor: Element): boolean => {
  for (let each: Parent | null = element; each !== null; each = "parentNode" in each ? each.parentNode : null) {
    if (each === ancestor) return true
  }
  return false
}

const maxMoves = 2_000

const placeSegments = (root: Root): void => {
  const byId = new Map<string, Element>()
  const moves: Array<Move> = []
  walk(root, (element) => {
    const id = attribute(element, "id")
    if (id !== undefined && !byId.has(id)) byId.set(id, element)
    if (element.tagName === "script" || element.tagName === "template") moves.push(...movesOf(element))
    return true
  })
  for (const { hasFallback, place, segment } of moves.slice(0, maxMoves)) {
    const content = byId.get(segment)
    const target = byId.get(place)
    const parent = target?.parentNode
    if (content === undefined || target === undefined || !parent || isInside(target, content)) continue
    const nodes = take(content)
    const index = parent.childNodes.indexOf(target)
    insert(parent, index, hasFallback ? countToEnd(parent.childNodes, index) : 1, nodes)
    byId.delete(segment)
    byId.delete(place)
  }
}

const isShadowRoot = (node: Node): node is Element =>
  isElement(node) && node.tagName === "template" && attribute(node, "shadowrootmode") !== undefined

/** Replaces the host's children by its shadow root, with the children in its slots. */
const placeShadowRoot = (host: Element, shadowRoot: Element): void => {
  const children = host.childNodes.filter((node) => node !== shadowRoot)
  const bySlot = Map.groupBy(children, (node) => (isElement(node) ? (attribute(node, "slot") ?? "") : ""))
  host.childNodes = []
  insert(host, 0, 0, take(shadowRoot))
  const slots: Array<Element> = []
  walk(host, (element) => {
    if (element.tagName === "slot") slots.push(element)
    return element.tagName !== "slot"
  })
  for (const slot of slots) {
    const name = attribute(slot, "name") ?? ""
    const assigned = bySlot.get(name) ?? []
    bySlot.delete(name)
    // Without an assigned node, a slot shows its own content.
    if (assigned.some((node) => isElement(node) || ("value" in node && node.value.trim() !== ""))) {
      insert(slot, 0, slot.childNodes.length, assigned)
    }
  }
}

const maxShadowRoots = 10_000

const placeShadowRoots = (root: Root): void => {
  const hosts: Array<readonly [Element, Element]> = []
  const find = (parent: Parent) =>
    walk(parent, (element) => {
      const shadowRoot = element.childNodes.find(isShadowRoot)
      if (shadowRoot !== undefined && element.tagName !== "template") hosts.push([element, shadowRoot])
      return true
    })
  find(root)
  for (let index = 0; index < Math.min(hosts.length, maxShadowRoots); index++) {
    const [host, shadowRoot] = hosts[index] ?? []
    if (host === undefined || shadowRoot === undefined) continue
    // Roots inside of it are found before its content is mixed with that of the host.
    if (isTemplate(shadowRoot)) find(shadowRoot.content)
    placeShadowRoot(host, shadowRoot)
  }
}

export const placeContent = (root: Root): void => {
  placeSegments(root)
  placeShadowRoots(root)
}
