import { Record, Schema } from "effect"

export const unreadableMessages = {
  address_not_allowed:
    "The address, or a redirect from it, uses a private or reserved network or a port other than 80 and 443. " +
    "Only pages on the public web can be read.",
  robots_disallowed: "The site's robots.txt does not allow programs to read this page.",
  not_found: "The site has no page at this address.",
  forbidden: "The site does not show this page to programs, or requires signing in.",
  site_error: "The site responded with an error. Try again later.",
  unreachable: "The site could not be reached. Check the address, or try again later.",
  timed_out: "The site did not send the complete page in time. Try again later.",
  too_large: "The page is too large to read.",
  too_many_redirects: "The site redirected too often, or in a loop.",
  unsupported_media_type:
    "This document type is not supported. Supported types are HTML, plain text, Markdown, JSON, XML feeds and PDF.",
  no_text: "The page has no readable text. It may need a browser, or be a scanned or encrypted document."
} as const

export type UnreadableReason = keyof typeof unreadableMessages

export const unreadableReasons = Record.keys(unreadableMessages)

export const UnreadableReason = Schema.Literals(unreadableReasons).annotate({ identifier: "UnreadableReason" })
