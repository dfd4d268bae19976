export interface Token {
  readonly kind: "string" | "comment" | "number" | "word" | undefined
  readonly text: string
}

const words =
  "as|async|await|const|curl|defer|echo|else|err|for|foreach|from|func|if|import|in|let|nil|null|package|return|throw|true|false|use|with|new|not|or|print|var"

const pattern = new RegExp(
  [
    /(?<comment>(?<=^|\s)(?:#|\/\/).*$)/,
    /(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)/,
    /(?<number>\b\d+(?:\.\d+)?\b)/,
    new RegExp(`(?<word>\\b(?:${words})\\b)`)
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm"
)

const kinds = ["comment", "string", "number", "word"] as const

export const tokensOf = (code: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let end = 0
  for (const match of code.matchAll(pattern)) {
    if (match.index > end) tokens.push({ kind: undefined, text: code.slice(end, match.index) })
    tokens.push({ kind: kinds.find((kind) => match.groups?.[kind] !== undefined), text: match[0] })
    end = match.index + match[0].length
  }
  return end < code.length ? [...tokens, { kind: undefined, text: code.slice(end) }] : tokens
}
