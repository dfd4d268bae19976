import { attribute, type Element, isText, type Root, textOf, walk } from "./Tree.ts"

/** A page with more text is not a challenge. */
const maxCharacters = 1_500
/** The same limit if there is only one sign of a challenge. */
const maxDoubtfulCharacters = 400

const title =
  /^(?:just a moment|one moment|please wait|attention required|access (?:to this page )?(?:has been )?denied|are you (?:a )?(?:robot|human)|verify(?:ing)? (?:that )?you are (?:a )?human|human verification|checking your browser|ddos[- ]guard|ddos protection|security (?:check|verification)|bot (?:check|verification)|captcha|robot check|pardon our interruption|client challenge)\b/i

const script = /\b_cf_chl_opt\b|\bAwsWafIntegration\b|captcha-delivery\.com/

const body =
  /(?:verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?(?:human|not a (?:ro)?bot)|checking (?:if the site connection is secure|your browser before)|enable javascript and cookies to continue|unusual traffic from your (?:computer )?network|complete the (?:captcha|security check)|solve (?:the|this) (?:captcha|puzzle)|press (?:and|&) hold to confirm|prove (?:that )?you(?:'re| are) (?:a )?human)/i

const source =
  /\/cdn-cgi\/challenge-platform\/|challenges\.cloudflare\.com|captcha-delivery\.com|_Incapsula_Resource|\/(?:h|re)captcha\/|px-captcha|awswaf\.com|\/_sec\/(?:cp_challenge|verify)/i

const statements = new Set(["title", "noscript", "p", "h1", "h2", "h3"])
const unread = new Set(["head", "title", "script", "style", "noscript", "template"])

const countSigns = (element: Element): number => {
  const name = element.tagName
  const text = name === "script" || statements.has(name) ? textOf(element) : ""
  return [
    name === "title" && title.test(text),
    statements.has(name) && body.test(text),
    name === "script" && script.test(text),
    (name === "script" || name === "iframe") && source.test(attribute(element, "src") ?? "")
  ].filter((sign) => sign).length
}

/** Requires a tree that still has its scripts. */
export const isChallenge = (root: Root): boolean => {
  let signs = 0
  let characters = 0
  walk(root, (element) => {
    if (!unread.has(element.tagName)) {
      for (const node of element.childNodes) if (isText(node)) characters += node.value.trim().length
    }
    if (characters <= maxCharacters) signs += countSigns(element)
    return characters <= maxCharacters
  })
  return characters <= (signs >= 2 ? maxCharacters : signs === 1 ? maxDoubtfulCharacters : -1)
}
