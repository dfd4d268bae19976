import { parseAddress } from "../net/address.ts"

const notPage =
  /\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|css|js|mjs|map|woff2?|ttf|otf|eot|zip|gz|tgz|bz2|xz|7z|rar|tar|exe|dmg|iso|mp3|mp4|webm|ogg|wav|mov|avi|apk|deb|rpm|docx?|xlsx?|pptx?)$/i

/** Resolves a link without its fragment. Undefined for other hosts and for files that are not pages. */
export const pageOnHost = (href: string, base: URL): string | undefined => {
  const url = parseAddress(href.trim(), base.href)
  if (url === null || !/^https?:$/.test(url.protocol) || url.host !== base.host) return undefined
  if (url.username !== "" || url.password !== "" || notPage.test(url.pathname)) return undefined
  url.hash = ""
  return url.href
}
