/**
 * Memory and patience: how much four heavy requests in flight add, how long the event loop stands still meanwhile, and
 * whether 10,000 mixed requests leave anything behind.
 */
import type { Figure } from './figures.ts'
import { type MeasuredService, startService } from './service.ts'

const megabyte = 1024 * 1024
const inFlight = 4
const heavyRounds = 8
const maxOverMb = 150
const maxStallMs = 8
const mixedRequests = 10_000
/** Between the halves of the mixed requests: what a collector leaves behind is no growth. */
const maxGrowthMb = 16

export async function measureMemory(): Promise<Figure[]> {
  const service = await startService()
  await heavy(service, 1)
  await service.child.collect()
  const idle = await service.child.usage()
  let peak = 0
  let stallMs = 0
  for (let round = 0; round < heavyRounds; round += 1) {
    await service.child.usage()
    await heavy(service, inFlight)
    const usage = await service.child.usage()
    peak = Math.max(peak, usage.rssBytes)
    stallMs = Math.max(stallMs, usage.stallMs)
  }
  const overMb = (peak - idle.rssBytes) / megabyte
  const growthMb = await measureGrowth(service)
  await service.stop()
  return [
    plain('idle resident memory', `${(idle.rssBytes / megabyte).toFixed(0)} MB`),
    {
      ...plain(`${inFlight} heavy requests in flight, over idle`, `${overMb.toFixed(0)} MB`),
      goal: `≤ ${maxOverMb} MB`,
      met: overMb <= maxOverMb,
    },
    {
      ...plain('longest stall of the event loop meanwhile', `${stallMs.toFixed(1)} ms`),
      goal: `≤ ${maxStallMs} ms`,
      met: stallMs <= maxStallMs,
    },
    {
      ...plain(`heap after ${mixedRequests} mixed requests`, `${growthMb.toFixed(1)} MB more`),
      anchor: `after ${mixedRequests / 2} of them`,
      goal: `≤ ${maxGrowthMb} MB`,
      met: growthMb <= maxGrowthMb,
    },
  ]
}

function plain(what: string, figure: string): Figure {
  return { bench: 'memory', what, figure, anchor: '', ratio: '', goal: '', met: null }
}

/** Unscoped calls that scan 5,000 rows each, all at once. */
async function heavy(service: MeasuredService, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () =>
      service.window('transactions', `from=${service.freshFrom()}&limit=500`, 'MISS'),
    ),
  )
}

/** Hits and misses in the mixture of a client that pages; the heap is looked at after a collection. */
async function measureGrowth(service: MeasuredService): Promise<number> {
  const from = service.freshFrom()
  await service.window('transactions', `from=${from}&limit=50`, 'MISS')
  const half = async () => {
    for (let count = 0; count < mixedRequests / 2; count += 1) {
      if (count % 100 === 0) await heavy(service, 1)
      else await service.window('transactions', `from=${from}&limit=50`, 'HIT')
    }
    await service.child.collect()
    return (await service.child.usage()).heapBytes
  }
  const middle = await half()
  return ((await half()) - middle) / megabyte
}
