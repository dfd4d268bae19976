import { DateTime } from "effect"
import { type Html, html } from "../html.ts"

/** The content of an email, from which both of its parts are written. */
export interface EmailBody {
  readonly subject: string
  /** The event in one sentence. */
  readonly paragraphs: ReadonlyArray<string>
  /** The time and origin of the event. */
  readonly facts: ReadonlyArray<readonly [name: string, value: string]>
  readonly button: { readonly text: string; readonly href: string }
  /** Advice for a recipient who did not cause the event. */
  readonly ifUnexpected: string | undefined
  readonly links: ReadonlyArray<{ readonly text: string; readonly href: string }>
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `27 Nov 2026, 14:05 UTC`. Mail programs do not know the reader's time zone. */
export const momentText = (at: number | string): string => {
  const { day, hour, minute, month, year } = DateTime.toPartsUtc(DateTime.makeUnsafe(at))
  const twoDigits = (part: number): string => String(part).padStart(2, "0")
  return `${day} ${months[month - 1]} ${year}, ${twoDigits(hour)}:${twoDigits(minute)} UTC`
}

export const plainText = ({ button, facts, ifUnexpected, links, paragraphs }: EmailBody): string =>
  [
    ...paragraphs,
    button.href,
    ...(facts.length === 0 ? [] : [facts.map(([name, value]) => `${name}: ${value}`).join("\n")]),
    ...(ifUnexpected === undefined ? [] : [ifUnexpected]),
    ...(links.length === 0 ? [] : [links.map(({ href, text }) => `${text}: ${href}`).join("\n")])
  ].join("\n\n")

/**
 * Mail programs that drop style sheets show the inline colors. Everything else follows the reader's scheme. Nothing is
 * loaded from elsewhere, so that opening the email tells nobody.
 */
const style = html`<style>
:root { color-scheme: light dark; supported-color-schemes: light dark }
@media (prefers-color-scheme: dark) {
  .ground { background: #131211 !important }
  .card { background: #1c1b19 !important; border-color: #34322e !important; color: #f2f0ec !important }
  .soft, .soft a { color: #a8a39a !important }
  .button { background: #7cc4ae !important; color: #10211c !important }
}
</style>`

const font = "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"
const softFont = "font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif"

const factRow = ([name, value]: readonly [string, string]): Html =>
  html`<p class="soft" style="margin:0;color:#66625b;${softFont};overflow-wrap:anywhere">${name}: ${value}</p>
`

export const htmlText = ({ button, facts, ifUnexpected, links, paragraphs, subject }: EmailBody): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
${style}
</head>
<body class="ground" style="margin:0;padding:24px 12px;background:#f4f3f0">
<div class="card" style="max-width:520px;margin:0 auto;padding:28px;background:#ffffff;border:1px solid #e3e0da;border-radius:12px;color:#1d1b18;${font}">
<p style="margin:0 0 20px;font-weight:700">Quarry</p>
${paragraphs.map((text) => html`<p style="margin:0 0 16px;overflow-wrap:anywhere">${text}</p>\n`)}
<p style="margin:24px 0"><a class="button" href="${button.href}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1f5f4f;color:#ffffff;font-weight:600;text-decoration:none">${button.text}</a></p>
${facts.map(factRow)}
${ifUnexpected === undefined ? undefined : html`<p style="margin:16px 0 0">${ifUnexpected}</p>`}
</div>
<p class="soft" style="max-width:520px;margin:16px auto 0;text-align:center;color:#66625b;${softFont}">${links.map(
    ({ href, text }, index) => html`${index === 0 ? "" : " · "}<a href="${href}" style="color:#66625b">${text}</a>`
  )}</p>
</body>
</html>
`.text
