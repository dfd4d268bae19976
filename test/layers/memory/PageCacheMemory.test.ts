import * as PageCacheMemory from "../../../src/layers/memory/PageCacheMemory.ts"
import { pageCacheConformance } from "../conformance/pages/PageCache.conformance.ts"

pageCacheConformance("memory", PageCacheMemory.layer)
