/** Length limits in the patterns keep the cost of each rule linear. */
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

export const plainText = (markdown: string): string =>
  rules.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), markdown).trim()
