import { assert, describe, it } from "@effect/vitest"
import { readDocument } from "../../../src/layers/pages/readDocument.ts"

/** A PDF of these objects; the first is the catalogue. */
const pdfOf = (objects: ReadonlyArray<string>, trailer = ""): Uint8Array => {
  let file = "%PDF-1.7\n"
  const offsets = objects.map((object, index) => {
    const offset = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const entries = offsets.map((offset) => `${`${offset}`.padStart(10, "0")} 00000 n \n`).join("")
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${file.length}\n%%EOF`
  return new TextEncoder().encode(file)
}

const stream = (content: string) => `<< /Length ${content.length} >>\nstream\n${content}\nendstream`

const onePage = (content: string, info = "<< >>", trailer = "") =>
  pdfOf(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
      stream(content),
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
      info
    ],
    `/Info 6 0 R ${trailer}`
  )

const read = (bytes: Uint8Array) =>
  readDocument({ bytes, contentType: "application/pdf", url: "https://example.org/a.pdf" })

describe("PDF", () => {
  it("R58: has text and metadata", async () => {
    const info = "<< /Title (Annual report) /Author (Ann Lee) /CreationDate (D:20261002093000+02'00') >>"
    const page = await read(onePage("BT /F1 12 Tf 50 700 Td (Hello world.) Tj 0 -20 Td (Second line.) Tj ET", info))
    assert(typeof page !== "string")
    assert.strictEqual(page.text, "Hello world.\nSecond line.")
    assert.deepStrictEqual(
      [page.title, page.author, page.published],
      ["Annual report", "Ann Lee", "2026-10-02T09:30:00+02:00"]
    )
    assert.strictEqual(page.mediaType, "application/pdf")
  })

  it("R60: has text in fonts that name a predefined character map", async () => {
    const texts = [
      ["UniJIS-UCS2-H", "Japan1", "<65E5672C8A9E>", "日本語"],
      ["90ms-RKSJ-H", "Japan1", "<93FA967B>", "日本"],
      ["UniGB-UTF16-H", "GB1", "<4E2D6587>", "中文"],
      ["GBK-EUC-H", "GB1", "<D6D0CEC4>", "中文"],
      ["ETen-B5-H", "CNS1", "<A4A4A4E5>", "中文"],
      ["KSCms-UHC-H", "Korea1", "<C7D1B1DB>", "한글"]
    ]
    for (const [encoding, ordering, codes, text] of texts) {
      const pdf = pdfOf([
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        stream(`BT /F1 12 Tf 50 700 Td ${codes} Tj ET`),
        `<< /Type /Font /Subtype /Type0 /BaseFont /Sample /Encoding /${encoding} /DescendantFonts [6 0 R] >>`,
        `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Sample /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /FontDescriptor 7 0 R >>`,
        "<< /Type /FontDescriptor /FontName /Sample /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>"
      ])
      const page = await read(pdf)
      assert(typeof page !== "string", encoding)
      assert.strictEqual(page.text, text)
    }
  })

  it("R59: without text, encrypted or broken has no_text", async () => {
    const encrypted = `/Encrypt << /Filter /Standard /V 1 /R 2 /O <${"00".repeat(32)}> /U <${"11".repeat(32)}> /P -4 >> /ID [<00> <00>]`
    assert.strictEqual(await read(onePage("")), "no_text")
    assert.strictEqual(await read(onePage("BT /F1 12 Tf (Hello) Tj ET", "<< >>", encrypted)), "no_text")
    assert.strictEqual(await read(new TextEncoder().encode("%PDF-1.7\nnonsense")), "no_text")
  })

  it("R59: ends for pages that contain themselves", async () => {
    const cyclic = pdfOf([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>",
      "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 1 >>"
    ])
    assert.strictEqual(await read(cyclic), "no_text")
  })
})
