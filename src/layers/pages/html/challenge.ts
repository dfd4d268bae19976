import { attribute, type Element, isText, namesOf, type Root, textOf, walk } from "./Tree.ts"

/** A page with more text is not a challenge. */
const maxCharacters = 1_500
/** The same limit if the words of a challenge are the only sign. */
const maxDoubtfulCharacters = 400
/** The same limit if a script of a challenge is the only sign: the page says no more than that it is one. */
const maxScriptCharacters = 100

const title =
  /^(?:just a moment|one moment|please wait|attention required|access (?:to this page )?(?:has been )?denied|are you (?:a )?(?:robot|human)|verify(?:ing)? (?:that )?you are (?:a )?human|human verification|checking your browser|ddos[- ]guard|ddos protection|security (?:check|verification)|bot (?:check|verification)|captcha|robot check|pardon our interruption|client challenge)\b/i

const body =
  /(?:verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?(?:human|not a (?:ro)?bot)|checking (?:if the site connection is secure|your browser before)|enable javascript and cookies to continue|unusual traffic from your (?:computer )?network|complete the (?:captcha|security check)|solve (?:the|this) (?:captcha|puzzle)|press (?:and|&) hold to confirm|prove (?:that )?you(?:'re| are) (?:a )?human)/i

/** Scripts of services that put a challenge before a page. */
const script = /\b_cf_chl_opt\b|\bAwsWafIntegration\b|captcha-delivery\.com/
const source =
  /\/cdn-cgi\/challenge-platform\/(?!scripts\/)|captcha-delivery\.com|_Incapsula_Resource|px-captcha|awswaf\.com|\/_sec\/(?:cp_challenge|verify)/i
/** A CAPTCHA, which forms have too. */
const widget = /challenges\.cloudflare\.com|\/(?:h|re)captcha\/|hcaptcha\.com/i

const statements = new Set(["title", "noscript", "p", "h1", "h2", "h3"])
const unread = new Set(["head", "title", "script", "style", "noscript", "template"])

/** A field that a person fills in, other than the answer. A page that has one is for more than a challenge. */
const isField = (element: Element): boolean =>
  element.tagName === "textarea" ||
  (element.tagName === "input" &&
    /^(?:text|email|tel|url|search|password|number|)$/i.test(attribute(element, "type") ?? "") &&
    !/captcha|challenge/i.test(`${namesOf(element)} ${attribute(element, "name") ?? ""}`))

interface Signs {
  words: number
  scripts: number
  widgets: number
  fields: number
}

const countSigns = (element: Element, signs: Signs): void => {
  const name = element.tagName
  const text = name === "script" || statements.has(name) ? textOf(element) : ""
  if (isField(element)) signs.fields++
  if (name === "title" && title.test(text)) signs.words++
  if (statements.has(name) && body.test(text)) signs.words++
  if (name === "script" && script.test(text)) signs.scripts++
  if (name !== "script" && name !== "iframe") return
  const address = attribute(element, "src") ?? ""
  if (source.test(address)) signs.scripts++
  else if (widget.test(address)) signs.widgets++
}

/** True for a page that is nothing but a challenge (R59). Requires a tree that still has its scripts. */
export const isChallenge = (root: Root): boolean => {
  const signs: Signs = { words: 0, scripts: 0, widgets: 0, fields: 0 }
  let characters = 0
  walk(root, (element) => {
    if (!unread.has(element.tagName)) {
      for (const node of element.childNodes) if (isText(node)) characters += node.value.trim().length
    }
    if (characters <= maxCharacters) countSigns(element, signs)
    return characters <= maxCharacters
  })
  const { fields, scripts, widgets, words } = signs
  if (fields > 0) return false
  if (words + scripts + widgets >= 2 && words > 0) return characters <= maxCharacters
  if (words > 0) return characters <= maxDoubtfulCharacters
  return scripts > 0 && characters <= maxScriptCharacters
}
