/** The first matching pattern wins: a user agent contains the names of several browsers. */

const browsers: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["Edge", /\bEdg(?:A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ["Safari", /\bSafari\//],
  ["curl", /^curl\//]
]

const systems: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMacintosh\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/]
]

const nameIn = (list: typeof browsers, text: string): string | undefined =>
  list.find(([, pattern]) => pattern.test(text))?.[0]

export const describeUserAgent = (text: string | null): string => {
  const [browser, system] = [nameIn(browsers, text ?? ""), nameIn(systems, text ?? "")]
  if (browser === undefined) return system === undefined ? "Unknown browser" : `A browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
