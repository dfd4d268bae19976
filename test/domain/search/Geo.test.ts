import { assert, describe, it } from "@effect/vitest"
import { defaultGeo, defaultLocale, defaultLocales, geos, parseGeo } from "../../../src/domain/search/Geo.ts"

/** The specification's list, as it stands there. */
const specification =
  "us, in, gb, ca, au, de, fr, sg, ae, jp, ad, af, ag, al, am, ao, ar, at, aw, az, ba, bb, bd, be, bf, bg, bh, bi, bj, bn, bo, br, bs, bw, by, bz, cd, cg, ch, ci, cl, cm, cn, co, cr, cu, cv, cy, cz, dk, do, dz, ec, ee, eg, es, et, fi, fj, fm, fo, ga, gd, ge, gf, gg, gh, gm, gp, gq, gr, gt, gu, gy, hk, hn, hr, ht, hu, id, ie, il, iq, ir, is, it, jm, jo, ke, kg, kh, km, kn, kr, kw, ky, kz, la, lb, lc, lk, lr, ls, lt, lu, lv, ly, ma, md, me, mg, mk, ml, mm, mn, mo, mp, mq, mr, mt, mu, mv, mw, mx, my, mz, na, nc, ne, ng, ni, nl, no, np, nz, om, pa, pe, pf, pg, ph, pk, pl, pr, ps, pt, pw, py, qa, re, ro, rs, ru, rw, sa, sb, sd, se, si, sk, sl, sn, so, sr, st, sv, sy, sz, td, tg, th, tj, tl, tn, to, tr, tt, tw, tz, ua, ug, uy, uz, vc, ve, vg, vi, vn, vu, ye, za, zm, zw"

describe("R8: the supported countries", () => {
  it("are the specification's 193, in its order", () => {
    assert.deepStrictEqual(geos, specification.split(", "))
    assert.strictEqual(new Set(geos).size, 193)
  })

  it("each is found in either letter case, and nothing else is", () => {
    const letters = "abcdefghijklmnopqrstuvwxyz"
    const supported = new Set(specification.split(", "))
    for (const first of letters) {
      for (const second of letters) {
        const code = first + second
        const expected = supported.has(code) ? code : undefined
        for (const text of [code, code.toUpperCase(), first.toUpperCase() + second, first + second.toUpperCase()]) {
          assert.strictEqual(parseGeo(text), expected)
        }
      }
    }
  })

  it("letters outside ASCII never spell one, even if their lower case does", () => {
    assert.strictEqual("\u212ae".toLowerCase(), "ke")
    assert.isUndefined(parseGeo("\u212ae"))
  })

  it("the default is the United States", () => assert.strictEqual(defaultGeo, "us"))
})

describe("R9: the default locale", () => {
  // Languages that no revision of CLDR is likely to change.
  const expected = {
    us: "en-us",
    in: "en-in",
    gb: "en-gb",
    jp: "ja-jp",
    br: "pt-br",
    de: "de-de",
    at: "de-at",
    fr: "fr-fr",
    ae: "ar-ae",
    cn: "zh-cn",
    tw: "zh-tw",
    kr: "ko-kr",
    mx: "es-mx",
    ua: "uk-ua",
    il: "he-il",
    dk: "da-dk",
    gr: "el-gr",
    vn: "vi-vn"
  }
  for (const [geo, locale] of Object.entries(expected)) {
    it(`of ${geo} is ${locale}`, () => assert.strictEqual(defaultLocale(geo), locale))
  }

  it("of every supported country is two letters, a hyphen and the country", () => {
    assert.deepStrictEqual([...defaultLocales.keys()], [...geos])
    for (const [geo, locale] of defaultLocales) {
      assert.match(locale, /^[a-z]{2}-[a-z]{2}$/)
      assert.strictEqual(locale.slice(3), geo)
      assert.strictEqual(defaultLocale(geo), locale)
    }
  })

  it("is English where CLDR's language has three letters", () => {
    assert.strictEqual(new Intl.Locale("und-PH").maximize().language, "fil")
    assert.strictEqual(defaultLocale("ph"), "en-ph")
  })

  it("is English where CLDR knows no language", () => {
    assert.strictEqual(defaultLocale("zz"), "en-zz")
  })
})
