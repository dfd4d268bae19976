import { TestClock } from "effect/testing"
import { layer } from "../../../src/layers/memory/PacerMemory.ts"
import { pacerConformance } from "../conformance/providers/Pacer.conformance.ts"

pacerConformance("PacerMemory", { layer, elapse: (ms) => TestClock.adjust(ms), time: "test" })
