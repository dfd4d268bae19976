export type Declarations = ReadonlyMap<string, string>

/** CSS allows escapes in names: `d\69splay` hides too. */
const withoutEscapes = (css: string): string =>
  css.replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gi, (_, code: string | undefined, character: string | undefined) =>
    code === undefined ? (character ?? "") : String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xfffd))
  )

export const readDeclarations = (css: string): Declarations => {
  const declarations = new Map<string, string>()
  for (const part of withoutEscapes(css.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, "")).split(";")) {
    const colon = part.indexOf(":")
    if (colon < 0) continue
    const value = part.slice(colon + 1).replace(/!\s*important\s*$/i, "")
    declarations.set(part.slice(0, colon).trim().toLowerCase(), value.trim().toLowerCase())
  }
  return declarations
}

const pixelsOf: { readonly [unit: string]: number } = {
  "": 1,
  px: 1,
  pt: 1.33,
  em: 16,
  rem: 16,
  "%": 10,
  vw: 10,
  vh: 10,
  cm: 38,
  in: 96
}

/** Approximate. Infinite if the value does not start with a length. */
const pixels = (value: string | undefined): number => {
  const [, number = "", unit = ""] = /^(-?\d*\.?\d+(?:e[-+]?\d+)?)([a-z%]*)/.exec(value ?? "") ?? []
  const factor = pixelsOf[unit]
  return number === "" || factor === undefined ? Number.POSITIVE_INFINITY : Number(number) * factor
}

const tinyPixels = 1
/** Anything this far left of or above its place is off the screen. */
const offScreenPixels = -900

const isTiny = (value: string | undefined): boolean => pixels(value) <= tinyPixels

const isFarAway = (value: string | undefined): boolean => pixels(value) <= offScreenPixels

const transparent = /^(?:transparent|(?:rgb|hsl)a?\([^)]*[,/]\s*0*\.?0+%?\s*\)|#[0-9a-f]{3}0|#[0-9a-f]{6}00)$/
const emptyClip =
  /^(?:rect\(\s*(?:[01](?:px)?[\s,]*){4}\)|inset\(\s*(?:[5-9]\d|1\d\d)(?:\.\d+)?%|circle\(\s*0|polygon\(\s*(?:0(?:px|%)?[\s,]*)+\))/
const nothingLeft = /(?:scale(?:3d|x|y)?\(\s*0*\.?0+\s*[,)]|translate(?:3d|x|y)?\([^)]*-\d{4,}px)/

const cutsOverflow = (style: Declarations): boolean =>
  /\b(?:hidden|clip|scroll|auto)\b/.test(
    `${style.get("overflow") ?? ""} ${style.get("overflow-x") ?? ""} ${style.get("overflow-y") ?? ""}`
  )

/** True if text in an element with these declarations is invisible (R60). */
export const hidesText = (style: Declarations): boolean => {
  const get = (name: string) => style.get(name)
  const color = get("color")
  const background = get("background-color") ?? get("background")
  return (
    get("display") === "none" ||
    /^(?:hidden|collapse)$/.test(get("visibility") ?? "") ||
    get("content-visibility") === "hidden" ||
    /^0*\.?0\d*%?$|^[0-4]%$/.test(get("opacity") ?? "") ||
    isTiny(get("font-size")) ||
    /(?:^|\s)0(?:px|em|%)?\s*(?:\/|\s)/.test(get("font") ?? "") ||
    (cutsOverflow(style) && ["width", "height", "max-width", "max-height"].some((name) => isTiny(get(name)))) ||
    (/^(?:absolute|fixed)$/.test(get("position") ?? "") &&
      ["left", "top", "right", "bottom", "inset"].some((name) => isFarAway(get(name)))) ||
    ["text-indent", "margin-left", "margin-top", "margin"].some((name) => isFarAway(get(name))) ||
    emptyClip.test(get("clip") ?? "") ||
    emptyClip.test(get("clip-path") ?? "") ||
    nothingLeft.test(get("transform") ?? "") ||
    (color !== undefined && (transparent.test(color) || color === background))
  )
}
