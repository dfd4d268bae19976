import { createQuarry } from "@quarry/client"
import { quarryTools } from "@quarry/client/ai"
import { generateText, type LanguageModel, stepCountIs } from "ai"

const instructions =
  "Answer in three sentences at most. Search before you answer anything that may have changed, and name the address of each source."

/** Lets a model search up to four times, and returns its answer with the addresses that it found. */
export const answer = async (model: LanguageModel, question: string) => {
  const quarry = createQuarry({
    baseUrl: process.env.QUARRY_URL ?? "http://localhost:3000",
    apiKey: process.env.QUARRY_API_KEY ?? ""
  })
  const { steps, text } = await generateText({
    model,
    system: instructions,
    prompt: question,
    tools: quarryTools(quarry, { source: "agent" }),
    stopWhen: stepCountIs(5)
  })
  const results = steps.flatMap(({ toolResults }) => toolResults)
  const sources = results.flatMap((result) =>
    !result.dynamic && result.toolName === "web_search" ? result.output.map(({ url }) => url) : []
  )
  return { text, sources: [...new Set(sources)] }
}
