/**
 * Translators of browsers replace text nodes with elements of their own. Preact still writes into the nodes that it
 * made, so a figure would keep its first value. This puts a replaced node back as soon as its text changes, and the
 * translator then translates it anew.
 */

const replacements = new WeakMap<Node, Node>()

const isTranslation = (node: Node | null): node is Node => node?.nodeName === "FONT"

const changes = new MutationObserver((records) => {
  for (const { target } of records) {
    const translation = replacements.get(target)
    if (target.parentNode === null) translation?.parentNode?.replaceChild(target, translation)
  }
})

const note = (records: ReadonlyArray<MutationRecord>): void => {
  for (const { addedNodes, nextSibling, previousSibling, removedNodes } of records) {
    const translation = [...addedNodes, previousSibling, nextSibling].find(isTranslation)
    for (const removed of removedNodes) {
      if (translation === undefined || !(removed instanceof Text)) continue
      replacements.set(removed, translation)
      changes.observe(removed, { characterData: true })
    }
  }
}

export const startTranslation = (root: Node): void =>
  new MutationObserver(note).observe(root, { childList: true, subtree: true })
