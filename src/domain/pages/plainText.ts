/** Limits how far a link or an image may extend, so that each rule's cost is linear. */
const rules: ReadonlyArray<readonly [RegExp, string]> = [
  [/!\[([^\]\n]{0,500})\]\([^)\s]{0,2000}(?: "[^"\n]{0,200}")?\)/g, "$1"],
  [/\[([^\]\n]{0,500})\]\([^)\s]{0,2000}(?: "[^"\n]{0,200}")?\)/g, "$1"],
  [/^[ \t]{0,3}#{1,6}[ \t]+/gm, ""],
  [/^[ \t]{0,3}(?:```|~~~)[^\n]{0,100}$/gm, ""],
  [/^[ \t]{0,3}>[ \t]?/gm, ""],
  [/(\*\*|__)(?=\S)([^*_\n]{1,500})\1/g, "$2"],
  [/(?<![\w*])\*(?=\S)([^*\n]{1,500})\*(?!\w)/g, "$1"],
  [/`([^`\n]{1,500})`/g, "$1"],
  [/\n{3,}/g, "\n\n"]
]

/** The text of Markdown from a reader that returns no other format. */
export const plainText = (markdown: string): string =>
  rules.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), markdown).trim()
