export const inlineElements = new Set(
  (
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math q rp rt ruby s samp " +
    "small span strike strong sub sup time tt u var wbr"
  ).split(" ")
)

export const headings = new Set(["h1", "h2", "h3", "h4", "h5", "h6"])

export const lists = new Set(["ul", "ol", "menu", "dl"])
