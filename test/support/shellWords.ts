/** The words of a POSIX shell for a line with plain words and single quotes. */
export const shellWords = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/(?:[^\s'\\]|\\[\s\S]|'[^']*')+/g), ([word]) =>
    word.replaceAll(/\\([\s\S])|'([^']*)'/g, (_, escaped?: string, quoted?: string) => escaped ?? quoted ?? "")
  )
