/**
 * Translators of browsers replace text nodes with elements of their own. Preact still writes into the nodes that it
 * made, so a figure would keep its first value. This puts a replaced node back as soon as its text changes, and the
 * translator then translates it anew.
 */

const replacements = new WeakMap<Node, ReadonlyArray<Node>>()

const isTranslation = (node: Node): boolean => node.nodeName === "FONT"

const changes = new MutationObserver((records) => {
  for (const { target } of records) {
    const [first, ...others] = replacements.get(target)?.filter((node) => node.parentNode !== null) ?? []
    if (first === undefined || target.parentNode !== null) continue
    for (const other of others) other.parentNode?.removeChild(other)
    first.parentNode?.replaceChild(target, first)
  }
})

const note = (records: ReadonlyArray<MutationRecord>): void => {
  const added = records.flatMap(({ addedNodes, target }) =>
    [...addedNodes].filter(isTranslation).map((node) => ({ node, target }))
  )
  if (added.length === 0) return
  for (const { nextSibling, previousSibling, removedNodes, target, addedNodes } of records) {
    const beside = new Set<Node | null>([nextSibling, previousSibling, ...addedNodes])
    const own = added
      .filter(({ node, target: parent }) => parent === target && beside.has(node))
      .map(({ node }) => node)
    for (const removed of removedNodes) {
      if (!(removed instanceof Text) || own.length === 0) continue
      replacements.set(removed, own)
      changes.observe(removed, { characterData: true })
    }
  }
}

export const startTranslation = (root: Node): void =>
  new MutationObserver(note).observe(root, { childList: true, subtree: true })
