import { assert, describe, it } from "@effect/vitest"
import type { ParsedPage } from "../../../src/domain/pages/Page.ts"
import { readDocument } from "../../../src/layers/pages/readDocument.ts"

const read = async (body: string | Uint8Array, contentType = "text/html; charset=utf-8"): Promise<ParsedPage> => {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  const page = await readDocument({ bytes, contentType, url: "https://example.org/docs/page.html" })
  assert(typeof page !== "string", `not read: ${page}`)
  return page
}

const prose =
  "<p>The keeper wrote down the height of the tide each morning, and he compared it with the table of the year before.</p>"
/** The Markdown of a fragment in a documentation page, and in an article, where a library sees it first. */
const markdownOf = async (fragment: string): Promise<ReadonlyArray<string>> => {
  const plain = await read(`<title>T</title><main>${fragment}</main>`)
  const article = await read(
    `<title>T</title><meta property="og:type" content="article"><body><nav>Menu</nav><article>${prose.repeat(4)}${fragment}${prose.repeat(4)}</article></body>`
  )
  const [, inArticle = ""] =
    /^(?:The keeper wrote.*\n\n){4}([\s\S]*?)(?:\n\nThe keeper wrote.*){4}$/.exec(article.markdown) ?? []
  return [plain.markdown, inArticle]
}
const isRead = async (fragment: string, markdown: string) => {
  for (const each of await markdownOf(fragment)) assert.strictEqual(each, markdown)
}
const fence = (code: string, language = "") => `\`\`\`${language}\n${code}\n\`\`\``

describe("formulas", () => {
  const tree = `<semantics><mrow><mi>a</mi><mo>=</mo><msup><mi>b</mi><mn>2</mn></msup></mrow><annotation encoding="application/x-tex">a = b^2</annotation></semantics>`
  const katex = (inner = "") =>
    `<span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML"${inner}>${tree}</math></span><span class="katex-html" aria-hidden="true"><span class="base">a=b2</span></span></span>`
  const forms: { readonly [name: string]: string } = {
    KaTeX: katex(),
    "MathML with alttext": `<math alttext="a = b^2"><mi>a</mi><mo>=</mo><msup><mi>b</mi><mn>2</mn></msup></math>`,
    "MathML alone": `<math><mrow><mi>a</mi><mo>=</mo><msup><mi>b</mi><mn>2</mn></msup></mrow></math>`,
    Wikipedia: `<span class="mwe-math-element"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math alttext="{\\displaystyle a = b^2}">${tree}</math></span><img src="x.svg" class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\\displaystyle a = b^2}"></span>`,
    "MathJax 2": `<span class="MathJax_Preview">[math]</span><span class="MathJax" id="f"><nobr aria-hidden="true">a=b2</nobr></span><script type="math/tex">a = b^2</script>`,
    "MathJax 3": `<mjx-container class="MathJax" jax="SVG"><svg><text>a</text></svg><mjx-assistive-mml><math>${tree}</math></mjx-assistive-mml></mjx-container>`,
    Sphinx: `<span class="math notranslate nohighlight">\\(a = b^2\\)</span>`,
    "Stack Exchange": `<span class="math-container">$a = b^2$</span>`
  }
  for (const [name, html] of Object.entries(forms)) {
    it(`R82: of ${name} are in the sentence, once`, () =>
      isRead(`<p>The law ${html} holds at sea.</p>`, "The law $a = b^2$ holds at sea."))
  }

  it("on a line of their own are blocks", async () => {
    for (const html of [
      `<span class="katex-display">${katex(' display="block"')}</span>`,
      `<script type="math/tex; mode=display">a = b^2</script>`,
      `<math display="block" alttext="a = b^2"><mi>a</mi></math>`,
      `<div class="math notranslate">\\[a = b^2\\]</div>`,
      `<mjx-container display="true"><mjx-assistive-mml><math display="block">${tree}</math></mjx-assistive-mml></mjx-container>`
    ]) {
      await isRead(
        `<p>So it is:</p><div>${html}</div><p>End of proof, said the keeper.</p>`,
        "So it is:\n\n$$a = b^2$$\n\nEnd of proof, said the keeper."
      )
    }
  })

  it("in MathML alone become TeX", () =>
    isRead(
      `<p>Take <math><mfrac><mn>1</mn><msqrt><mi>x</mi></msqrt></mfrac><mo>+</mo><msub><mi>y</mi><mrow><mi>i</mi><mo>+</mo><mn>1</mn></mrow></msub></math> now.</p>`,
      "Take $\\frac{1}{\\sqrt{x}} + y_{i + 1}$ now."
    ))

  it("keep an article in a wrapper with such a class", async () => {
    const { text } = await read(
      `<title>T</title><body class="katex"><div class="katex">${prose.repeat(3)}</div></body>`
    )
    assert.include(text, "The keeper wrote")
  })
})

describe("signs in a sentence", () => {
  it("R82: powers and indexes keep their meaning", () =>
    isRead(
      "<p>10<sup>23</sup>, 10<sup>-3</sup>, x<sup>n+1</sup>, log<sub>2</sub>8, x<sub>i</sub>, H<sub>2</sub>O, the 1<sup>st</sup>, Ship<sup>™</sup></p>",
      "10^23, 10^-3, x^(n+1), log_28, x_i, H2O, the 1st, Ship™"
    ))

  it("footnotes are numbers in brackets", async () => {
    for (const mark of [
      `<sup><a href="#fn1">1</a></sup>`,
      `<a href="#fn1" class="footnote-ref" role="doc-noteref"><sup>1</sup></a>`,
      `<sup class="reference"><a href="#cite_note-1"><span>[</span>1<span>]</span></a></sup>`,
      `<sup id="fnref:1"><a href="#fn:1" role="doc-noteref">1</a></sup>`
    ]) {
      await isRead(`<p>A claim${mark} stands.</p>`, "A claim[1] stands.")
    }
  })

  it("signs of permalinks are left out", async () => {
    for (const sign of [
      `<a class="headerlink" href="#install" title="Link to this heading">¶</a>`,
      `<a class="hash-link" href="#install" aria-label="Direct link">​</a>`,
      `<a href="https://example.org/docs/page.html#install">#</a>`,
      `<a class="anchor" href="#install">Permalink</a>`,
      `<span class="mw-editsection">[<a href="/edit">edit</a>]</span>`,
      `<button>Copy link</button>`
    ]) {
      await isRead(`<h2 id="install">Install it${sign}</h2><p>Run the pump.</p>`, "## Install it\n\nRun the pump.")
    }
    await isRead(`<h2><a href="#c">C#</a></h2><p>Run the pump.</p>`, "## C#\n\nRun the pump.")
  })

  it("custom elements are inline, unless they contain blocks", async () => {
    await isRead(
      `<p>Sailed <relative-time datetime="2026-01-01">in January</relative-time> with <x-crew>two</x-crew>.</p>`,
      "Sailed in January with two."
    )
    await isRead(`<x-page><p>One.</p><p>Two.</p></x-page>`, "One.\n\nTwo.")
  })

  it("R58: a link around blocks is a link of its title", async () => {
    const page = await read(
      `<title>T</title><main><a href="/post"><h3>Fog</h3><p>It came at night.</p></a><a href="/two"><div>Ice</div><div>It came late.</div></a></main>`
    )
    assert.strictEqual(
      page.markdown,
      "### [Fog](https://example.org/post)\n\nIt came at night.\n\n[Ice](https://example.org/two)\n\nIt came late."
    )
    assert.deepStrictEqual(page.links, [
      { url: "https://example.org/post", text: "Fog" },
      { url: "https://example.org/two", text: "Ice" }
    ])
  })
})

describe("tables", () => {
  it("have each value below its header, across rows and columns", () =>
    isRead(
      `<table><tr><th rowspan="2">Port</th><th colspan="2">Depth</th></tr><tr><th>Low</th><th>High</th></tr>
      <tr><td rowspan="2">North</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr><tr><td>South</td><td colspan="2">none</td></tr></table>`,
      "| Port | Depth | Depth |\n| --- | --- | --- |\n| Port | Low | High |\n| North | 1 | 2 |\n| North | 3 | 4 |\n| South | none | none |"
    ))

  it("end for any span", async () => {
    const cells = `<td rowspan="65534" colspan="1000">a</td><td rowspan="0">b</td>`
    await read(`<title>T</title><main><table>${`<tr>${cells}</tr>`.repeat(2_000)}</table></main>`)
  })
})

describe("code", () => {
  const code = "tide = 1\n\n  print(tide)"
  const [first = "", , third = ""] = code.split("\n")
  const forms: { readonly [name: string]: string } = {
    div: `<pre><code><div class="ec-line"><div class="code">${first}</div></div><div class="ec-line"><div class="code">\n</div></div><div class="ec-line"><div class="code">${third}</div></div></code></pre>`,
    li: `<pre class="prettyprint"><ol class="linenums"><li>${first}</li><li></li><li>${third}</li></ol></pre>`,
    tr: `<pre><code><table><tbody><tr><td class="hljs-ln-numbers" data-line-number="1"></td><td>${first}</td></tr><tr><td class="hljs-ln-numbers" data-line-number="2"></td><td></td></tr><tr><td class="hljs-ln-numbers" data-line-number="3"></td><td>${third}</td></tr></tbody></table></code></pre>`,
    p: `<pre><p>${first}</p><p></p><p>${third}</p></pre>`,
    br: `<pre><span class="token-line">${first}<br></span><span class="token-line"><br></span><span class="token-line">${third}<br></span></pre>`,
    "spans shown as blocks": `<pre><code><span class="line">${first}</span><span class="line"></span><span class="line">${third}</span></code></pre>`,
    "spans with line breaks": `<pre><code><span class="line">${first}</span>\n<span class="line"></span>\n<span class="line">${third}</span></code></pre>`,
    "numbers in spans": `<pre><span class="linenos">1</span>${first}\n<span class="linenos">2</span>\n<span class="linenos">3</span>${third}\n</pre>`,
    "numbers beside it": `<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1\n2\n3</pre></div></td><td class="code"><div class="highlight"><pre>${code}\n</pre></div></td></tr></table>`,
    "numbers in the first column": `<pre><table><tr><td>1</td><td>${first}</td></tr><tr><td>2</td><td></td></tr><tr><td>3</td><td>${third}</td></tr></table></pre>`,
    "a table of lines": `<table class="highlight"><tr><td class="blob-num" data-line-number="1"></td><td class="blob-code">${first}</td></tr><tr><td class="blob-num" data-line-number="2"></td><td class="blob-code"></td></tr><tr><td class="blob-num" data-line-number="3"></td><td class="blob-code">${third}</td></tr></table>`
  }
  for (const [name, html] of Object.entries(forms)) {
    it(`R60: has one line for each line: ${name}`, () => isRead(`<div>${html}</div>`, fence(code)))
  }

  it("keeps numbers that are code", () => isRead(`<pre><div>1</div><div>2</div><div>10</div></pre>`, fence("1\n2\n10")))

  it("R60: has its language, wherever it is stated", async () => {
    for (const html of [
      `<pre><code class="hljs python">X</code></pre>`,
      `<pre lang="python"><code>X</code></pre>`,
      `<pre><code class="language-python">X</code></pre>`,
      `<div class="highlight-python notranslate"><div class="highlight"><pre>X</pre></div></div>`,
      `<div class="highlight highlight-source-python"><pre>X</pre></div>`,
      `<pre class="sourceCode python"><code>X</code></pre>`,
      `<div class="language-python vp-adaptive-theme"><button class="copy"></button><span class="lang">python</span><pre class="shiki dark"><code>X</code></pre></div>`,
      `<pre class="brush: python; gutter: false">X</pre>`,
      `<pre class="EnlighterJSRAW" data-enlighter-language="python">X</pre>`,
      `<figure data-language="python"><pre>X</pre></figure>`
    ]) {
      await isRead(html, fence("X", "python"))
    }
    await isRead(`<pre lang="en" class="notranslate"><code class="language-none">X</code></pre>`, fence("X"))
  })
})

describe("charsets by the WHATWG Encoding Standard", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>, string]> = [
    ["euc-kr", [0x8c, 0x63, 0x94, 0xee], "똠뷁"],
    ["ks_c_5601-1987", [0x8c, 0x63], "똠"],
    ["windows-949", [0x8c, 0x63], "똠"],
    ["shift_jis", [0x87, 0x40, 0x81, 0x60], "①～"],
    ["gb2312", [0x98, 0x44], "楧"],
    ["big5", [0x87, 0x40], "䏰"],
    ["iso-2022-jp", [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x1b, 0x28, 0x42], "日"],
    ["iso-8859-1", [0x93, 0xe9], "“é"],
    ["x-mac-cyrillic", [0x80], "А"],
    ["koi8-u", [0xa4], "є"]
  ]
  for (const [label, bytes, text] of cases) {
    it(`R60: ${label}`, async () => {
      const start = new TextEncoder().encode(`<meta charset="${label}"><p>x `)
      assert.strictEqual((await read(Uint8Array.from([...start, ...bytes]), "text/html")).text, `x ${text}`)
    })
  }

  it("R60: are declared by charset, or by content beside http-equiv, and by nothing else", async () => {
    for (const head of [
      `<meta name="description" content="Pages in text/html; charset=windows-1251 are old"><meta charset="utf-8">`,
      `<meta content="charset=koi8-r"><meta charset=utf-8>`,
      `<!-- <meta charset="koi8-r"> --><meta charset="utf-8">`,
      `<meta charset="unknown-1"><meta http-equiv="Content-Type" content="text/html; charset=utf-8">`,
      `<title><meta charset="koi8-r"></title><meta charset="utf-8">`
    ]) {
      assert.include((await read(`${head}<p>Ебб</p>\u0000`, "text/html")).text, "Ебб", head)
    }
  })
})
