/** Invisible characters, which can carry instructions that agents read and people do not see (R60). */
const invisible =
  /[\p{Cc}--[\t\n]]|[\u00AD\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}\u{E0100}-\u{E01EF}]|\p{Cs}|\p{Noncharacter_Code_Point}/gv

const hasInvisible = new RegExp(invisible.source, "v")

/** A joiner that no script needs there. Between letters it shapes Persian and Indic words; it also joins emoji. */
const looseJoiner =
  /(?<![\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])[\u200C\u200D]|[\u200C\u200D](?![\p{L}\p{M}\p{Extended_Pictographic}])/gv

const lineEnds = /\r\n?|[\u0085\u2028\u2029]/g

export const visibleText = (text: string): string => {
  const lines = text.replace(lineEnds, "\n")
  const shown = hasInvisible.test(lines) ? lines.replace(invisible, "") : lines
  return /[\u200C\u200D]/.test(shown) ? shown.replace(looseJoiner, "") : shown
}
