import { assert, describe, it } from "@effect/vitest"
import type { ParsedPage } from "../../../src/domain/pages/Page.ts"
import { readDocument } from "../../../src/layers/pages/readDocument.ts"

const reading = (body: string, contentType = "text/html; charset=utf-8") =>
  readDocument({ bytes: new TextEncoder().encode(body), contentType, url: "https://example.org/docs/harbor.html" })

const read = async (...input: Parameters<typeof reading>): Promise<ParsedPage> => {
  const page = await reading(...input)
  assert(typeof page !== "string", `not read: ${page}`)
  return page
}

const sentence = (n: number) =>
  `The pilot boat ${n} leaves the inner harbor at dawn, and it returns with the tide when the light on the mole goes out.`
const paragraphs = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => `<p>${sentence(from + n)} ${sentence(from + n)}</p>`).join("")
const includesAll = (text: string, from: number, count: number) => {
  for (let n = from; n < from + count; n++) assert.include(text, `The pilot boat ${n} leaves`)
}
const docs = (content: string, head = "") =>
  `<!doctype html><html><head><title>Harbor guide</title>${head}</head><body><nav><a href="/">Home</a></nav><main>${content}</main><footer>Imprint</footer></body></html>`
const navigation = `<nav>${Array.from({ length: 400 }, (_, n) => `<a href="/berth/${n}">Berth number ${n} on the long quay</a>`).join(" ")}</nav>`

describe("names of classes and ids (R82)", () => {
  it("never judge a heading", async () => {
    for (const name of ["cookies", "related", "share", "newsletter", "comments", "sponsors", "sidebar", "contact"]) {
      const { markdown } = await read(
        docs(`<article>${paragraphs(0, 4)}<h2 id="${name}" class="${name}">Moorings</h2>${paragraphs(4, 3)}</article>`)
      )
      assert.include(markdown, "## Moorings", name)
    }
  })

  it("never judge a section whose id is the slug of its heading", async () => {
    for (const heading of [
      "Sharing a berth",
      "Related harbors",
      "Cookies",
      "Author",
      "Comments",
      "Social rules: quiet hours"
    ]) {
      const slug = heading.toLowerCase().replace(/[^a-z]+/g, "-")
      const { markdown } = await read(
        docs(
          `<article>${paragraphs(0, 4)}<section id="${slug}"><h2>${heading}</h2><p>Ask the master first.</p><pre><code>berth share --with 12</code></pre></section>${paragraphs(4, 3)}</article>`
        )
      )
      assert.include(markdown, `## ${heading}`)
      assert.include(markdown, "Ask the master first.")
      assert.include(markdown, "berth share --with 12")
    }
  })

  it("of the wrapper of an article do not remove it, however many links the navigation has", async () => {
    for (const name of [
      "content__sharingContainer",
      "author-page",
      "has-carousel",
      "cookie-notice-enabled",
      "js-subscribe",
      "post tag-newsletter"
    ]) {
      const page = await read(
        `<title>Tides</title><body>${navigation}<div class="${name}"><h1>Tides</h1>${paragraphs(0, 6)}</div></body>`
      )
      includesAll(page.text, 0, 6)
    }
  })

  it("of many small parts do not remove most of the prose", async () => {
    const slides = Array.from({ length: 8 }, (_, n) => `<div class="slider-item">${paragraphs(n, 1)}</div>`).join("")
    includesAll((await read(docs(slides))).text, 0, 8)
  })

  it("still remove furniture", async () => {
    const { text } = await read(
      docs(
        `<article>${paragraphs(0, 6)}<div class="share-bar">Share this with a sailor</div><div class="newsletter">Get the tide table by mail</div></article>`
      )
    )
    includesAll(text, 0, 6)
    assert.notMatch(text, /with a sailor|tide table/)
  })
})

describe("text that a script or style sheet of the page shows (R82)", () => {
  it("is read in segments that React streams", async () => {
    const page = await read(
      `<title>Tides</title><body><main><h1>Tides</h1><!--$?--><template id="B:0"></template><p>Loading tides…</p><!--/$--></main>
      <div hidden id="S:0">${paragraphs(0, 4)}</div><script>$RC=function(b,c){};$RC("B:0","S:0")</script></body>`
    )
    includesAll(page.text, 0, 4)
    assert.notInclude(page.text, "Loading")
  })

  it("is read in nested and several segments, in the order of the page", async () => {
    const page = await read(
      `<title>Tides</title><body><main><!--$?--><template id="B:0"></template><p>Fallback</p><!--/$--><p>Last words of the keeper.</p></main>
      <div hidden id="S:1">${paragraphs(1, 2)}</div><div hidden id="S:0">${paragraphs(0, 1)}<template id="P:1"></template><!--$?--><template id="B:2"></template><b>Fallback</b><!--/$--></div>
      <script>$RS("S:1","P:1");$RC("B:0","S:0")</script><div hidden id="S:2">${paragraphs(3, 2)}</div><script>$RC("B:2","S:2")</script></body>`
    )
    includesAll(page.text, 0, 5)
    assert.notInclude(page.text, "Fallback")
    const order = [0, 1, 2, 3, 4].map((n) => page.text.indexOf(`boat ${n} `))
    assert.deepStrictEqual(
      order,
      order.toSorted((one, other) => one - other)
    )
    assert.match(page.text, /Last words of the keeper\.$/)
  })

  it("is not read if no script moves it, and ends for a segment that is moved into itself", async () => {
    const hidden = `<div hidden id="S:0"><p>SECRET orders</p><template id="B:0"></template></div>`
    for (const script of ["", `<script>$RC("B:0","S:0")</script>`, `<script>$RC("B:9","S:0")</script>`]) {
      const page = await read(docs(`${paragraphs(0, 3)}${hidden}${script}`))
      assert.notInclude(page.text, "SECRET")
    }
  })

  it("is read if most of the prose waits to be faded in", async () => {
    const style = "opacity:0;transform:translateY(24px)"
    includesAll((await read(docs(`<div style="${style}">${paragraphs(0, 5)}</div>`))).text, 0, 5)
    const sections = [0, 1, 2, 3, 4].map((n) => `<section style="${style}">${paragraphs(n, 1)}</section>`)
    includesAll((await read(docs(sections.join("")))).text, 0, 5)
  })

  it("is read if a critical style sheet hides most of the prose, and what it hides else is not", async () => {
    const sheet = "<style>.page-wrap{visibility:hidden}#shell{display:none}.modal{display:none}</style>"
    const modal = `<div class="modal"><p>SECRET words of a dialog</p></div>`
    const page = await read(
      `<title>Tides</title>${sheet}<body><div id="shell"><div class="page-wrap">${paragraphs(0, 5)}${modal}</div></div></body>`
    )
    includesAll(page.text, 0, 5)
    assert.notInclude(page.text, "SECRET")
  })

  it("is read in declarative shadow roots, with the content of their slots", async () => {
    const page = await read(
      docs(`<harbor-article><template shadowrootmode="open"><style>p{color:navy}</style><h2>Lights</h2><slot name="intro"></slot><div>${paragraphs(0, 3)}</div>
      <tide-note><template shadowrootmode="closed"><p>Note: <slot>nothing</slot></p></template>the mole is slippery</tide-note><slot></slot></template>
      <p>Outside words by the keeper.</p><p slot="intro">Intro by the master.</p></harbor-article>`)
    )
    includesAll(page.text, 0, 3)
    const order = [
      "Lights",
      "Intro by the master.",
      "boat 0",
      "Note: the mole is slippery",
      "Outside words by the keeper."
    ]
    const places = order.map((each) => page.text.indexOf(each))
    assert.deepStrictEqual(
      places,
      places.toSorted((one, other) => one - other)
    )
    assert.notInclude(places, -1)
    assert.notInclude((await read(docs(`${paragraphs(0, 3)}<template><p>SECRET</p></template>`))).text, "SECRET")
  })

  it("is read exactly once if it has a twin for screen readers", async () => {
    const twins: ReadonlyArray<readonly [string, string, string]> = [
      [`<span aria-hidden="true">€4.20</span><span class="visually-hidden">4 euros 20</span>`, "€4.20", "4 euros 20"],
      [`<span class="sr-only">4 euros 20</span> <span aria-hidden="true">€4.20</span>`, "€4.20", "4 euros 20"],
      [
        `<b aria-hidden="true">€4.20</b><i style="position:absolute;clip:rect(0,0,0,0)">4 euros 20</i>`,
        "€4.20",
        "4 euros 20"
      ],
      [
        `<span aria-hidden="true">★★★★</span><span class="govuk-visually-hidden">four stars</span>`,
        "★★★★",
        "four stars"
      ]
    ]
    for (const [html, seen, heard] of twins) {
      const { text } = await read(docs(`${paragraphs(0, 2)}<p>A berth costs ${html} a day.</p>${paragraphs(2, 2)}`))
      assert.strictEqual([seen, heard].filter((each) => text.includes(each)).length, 1, html)
      assert.match(text, /A berth costs \S.* a day\./)
    }
    assert.notInclude(
      (await read(docs(`${paragraphs(0, 2)}<p>Go <span aria-hidden="true">SECRET</span></p>`))).text,
      "SECRET"
    )
  })
})

describe("text that a library would drop", () => {
  const article = (middle: string) =>
    `<!doctype html><title>Harbor guide</title><meta property="og:type" content="article"><body><nav>Menu</nav><main><article><h1>Harbor guide</h1>${paragraphs(0, 4)}${middle}${paragraphs(4, 4)}</article></main></body>`

  it("R60: only a line that is a label is dropped", async () => {
    for (const line of [
      "Also, remember one thing: never leave a line in the water.",
      "More than once we asked: who owns the buoy?",
      "Photographs of the wreck tell another story: it was no accident.",
      "Update: the ferry runs again since Monday morning.",
      "Source code is in the repository: see the last chapter.",
      "Follow the marked channel: the rocks are close.",
      "Share the quay with others: it is narrow."
    ]) {
      assert.include((await read(article(`<p>${line}</p>`))).text, line)
    }
    for (const line of [
      "Related:",
      "Photo: Ann Lee/Harbor Press",
      "Tags: boats, tides",
      "Read more:",
      "Image credit: A. Lee",
      "Published: 2 October 2026"
    ]) {
      assert.notInclude((await read(article(`<p>${line}</p>`))).text, line)
    }
  })

  it("keeps questions in buttons with their answers", async () => {
    const { markdown } = await read(
      docs(
        `<h1>Questions</h1><h3><button aria-expanded="false" aria-controls="a1">How do I dock?</button></h3><div id="a1"><p>${sentence(1)}</p></div>
        <div class="faq"><div class="q"><button aria-expanded="false">Where is fuel sold?</button></div><div><p>${sentence(2)}</p></div></div>
        <div><button type="button">Subscribe now</button></div>${paragraphs(3, 2)}`
      )
    )
    assert.include(markdown, "### How do I dock?")
    assert.include(markdown, "Where is fuel sold?")
    includesAll(markdown, 1, 4)
    assert.notInclude(markdown, "Subscribe now")
  })

  it("keeps warnings and notes, but not the sidebar of an article", async () => {
    for (const open of [
      `<aside class="caution">`,
      `<aside role="note">`,
      `<aside aria-label="Warning" class="starlight-aside starlight-aside--caution">`,
      `<div role="alert">`,
      `<div class="admonition danger">`
    ]) {
      const close = open.startsWith("<aside") ? "</aside>" : "</div>"
      for (const page of [article, docs]) {
        const { text } = await read(
          page(`${paragraphs(0, 2)}${open}<p>Never sail past the red buoy.</p>${close}${paragraphs(2, 2)}`)
        )
        assert.include(text, "Never sail past the red buoy.", open)
      }
    }
    const { text } = await read(article(`<aside class="sidebar"><p>Buy a boat today.</p></aside>`))
    assert.notInclude(text, "Buy a boat")
  })
})

describe("feeds", () => {
  const entry = (inner: string) =>
    `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Harbor news</title>${inner}</channel></rss>`

  it("R60: have the full text, in either order, and a summary if that is all", async () => {
    const full = "<content:encoded><![CDATA[<p>The whole story of the wreck.</p>]]></content:encoded>"
    const summary = "<description>The wreck in short.</description>"
    for (const inner of [`${summary}${full}`, `${full}${summary}`]) {
      const { text } = await read(entry(`<item><title>Wreck</title>${inner}</item>`), "application/rss+xml")
      assert.strictEqual(text, "Wreck\n\nThe whole story of the wreck.")
    }
    assert.include(
      (await read(entry(`<item><title>Wreck</title>${summary}</item>`), "application/rss+xml")).text,
      "The wreck in short."
    )
  })

  it("R60: in Atom have content of each type", async () => {
    const { markdown } = await read(
      `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Harbor</title><link rel="self" href="/feed"/><link href="https://example.org/"/>
      <entry><title type="html">Tides &amp;amp; moons</title><link rel="alternate" href="/tides"/><summary>Short.</summary><content type="html">&lt;p&gt;Long &lt;b&gt;tides&lt;/b&gt;.&lt;/p&gt;</content></entry>
      <entry><title>Lights</title><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Long<br/>lights.</p></div></content><summary>Short.</summary></entry>
      <entry><title>Fog</title><content type="text">a &lt; b</content></entry></feed>`,
      "application/atom+xml"
    )
    assert.strictEqual(
      markdown,
      "## [Tides & moons](https://example.org/tides)\n\nLong **tides**.\n\n## Lights\n\nLong  \nlights.\n\n## Fog\n\na < b"
    )
  })

  it("R60: in JSON are read like others", async () => {
    const feed = {
      version: "https://jsonfeed.org/version/1.1",
      title: "Harbor",
      items: [
        {
          id: "1",
          url: "https://example.org/1",
          title: "Wreck",
          summary: "Short",
          content_html: "<p>The whole story.</p>"
        }
      ]
    }
    for (const type of ["application/feed+json", "application/json"]) {
      const page = await read(JSON.stringify(feed), type)
      assert.deepStrictEqual(
        [page.title, page.markdown],
        ["Harbor", "## [Wreck](https://example.org/1)\n\nThe whole story."]
      )
    }
  })
})

describe("XHTML and challenges", () => {
  it("R59: XHTML is read as XML", async () => {
    const html = `<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Tides</title><script src="x.js"/><style/></head>
      <body><div id="top"/><p title="a > b">One&nbsp;tide<br/>and <![CDATA[<another>]]></p><iframe src="x"/><textarea/><p>Two</p></body></html>`
    for (const type of ["application/xhtml+xml", "application/xml"]) {
      assert.strictEqual((await read(html, type)).text, "One tide\nand <another>\n\nTwo")
    }
  })

  it("R59: a short page with a CAPTCHA in its form is not a challenge", async () => {
    for (const source of [
      "https://www.google.com/recaptcha/api.js",
      "https://challenges.cloudflare.com/turnstile/v0/api.js",
      "https://hcaptcha.com/1/api.js"
    ]) {
      const script = `<script src="${source}"></script>`
      const plain = await read(
        `<title>Contact</title>${script}<main><p>Call the harbor master at 555 0100, or write to the office on the quay.</p></main>`
      )
      assert.include(plain.text, "555 0100")
      const form = await read(
        `<title>Contact</title>${script}<main><p>Write to us.</p><form><input name="mail" type="email"><textarea></textarea><p>Verify you are human</p></form></main>`
      )
      assert.include(form.text, "Write to us.")
      assert.strictEqual(
        await reading(`<title>Just a moment...</title>${script}<p>Verify you are human.</p>`),
        "forbidden"
      )
    }
  })
})
