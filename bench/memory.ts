/**
 * Memory over idle and the longest event-loop stall while four heavy requests are in flight, and whether
 * memory grows over ten thousand mixed requests.
 */
import type { Figure } from './figures.ts'
import { type MeasuredService, startService } from './service.ts'
import { median } from './turns.ts'

const batches = 10
const mixed = 10_000
const overMb = 150
const stallMs = 12
/** The heap growth allowed after ten thousand requests, about 200 bytes each. */
const growthMb = 2

const toMb = (bytes: number) => bytes / 1024 / 1024

export async function measureMemory(): Promise<Figure[]> {
  const service = await startService('any')
  await service.ask('/v1/accounts')
  await settle(service)
  const idle = await service.child.usage()
  const { peakBytes, stalls } = await runHeavy(service)
  const growth = await measureGrowth(service)
  await service.stop()
  const over = toMb(peakBytes - idle.rssBytes)
  const stall = median(stalls)
  return [
    figure(
      'resident memory of the measured service when idle',
      `${toMb(idle.rssBytes).toFixed(0)} MB`,
      '',
      null,
    ),
    figure(
      'resident memory over idle, four heavy requests in flight, peak',
      `${over.toFixed(0)} MB`,
      `≤ ${overMb} MB`,
      over <= overMb,
    ),
    figure(
      'longest event-loop stall meanwhile, median (worst) of ten times four',
      `${stall.toFixed(1)} (${Math.max(...stalls).toFixed(1)}) ms`,
      `≤ ${stallMs} ms`,
      stall <= stallMs,
    ),
    figure(
      `heap left over after ${mixed.toLocaleString('en')} mixed requests`,
      `${growth.toFixed(1)} MB`,
      `≤ ${growthMb} MB`,
      growth <= growthMb,
    ),
  ]
}

function figure(what: string, text: string, goal: string, met: boolean | null): Figure {
  return { bench: 'memory', what, figure: text, anchor: '', ratio: '', goal, met }
}

async function settle(service: MeasuredService): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await service.child.collect()
  await service.child.usage()
}

async function runHeavy(service: MeasuredService) {
  const stalls: number[] = []
  let peakBytes = 0
  for (let batch = 0; batch < batches; batch += 1) {
    const asked = Array.from({ length: 4 }, () =>
      service.window('transactions', `from=${service.freshFrom()}&limit=500`, 'MISS'),
    )
    await Promise.all(asked)
    const usage = await service.child.usage()
    stalls.push(usage.stallMs)
    peakBytes = Math.max(peakBytes, usage.peakRssBytes)
  }
  return { stalls, peakBytes }
}

/** Heap growth in megabytes of a second ten thousand: the first fill the bounded caches. */
async function measureGrowth(service: MeasuredService): Promise<number> {
  await runMixed(service)
  await settle(service)
  const before = await service.child.usage()
  await runMixed(service)
  await settle(service)
  const after = await service.child.usage()
  return toMb(after.heapBytes - before.heapBytes)
}

/** Cached and uncached answers, unknown paths, bad parameters and bad keys, sixteen at a time. */
async function runMixed(service: MeasuredService): Promise<void> {
  const paths = [
    '/v1/connections',
    '/v1/accounts',
    '/v1/categories',
    '/v1/accounts?limit=0',
    '/v1/nowhere',
    '/v1/transactions',
  ]
  let left = mixed
  const lane = async () => {
    while (left > 0) {
      left -= 1
      const path = paths[left % paths.length] ?? ''
      if (left % 50 === 0) await service.ask(`${path}?turn=${left}`)
      else if (left % 50 === 1) await service.ask(path, `trib_live_${left}`)
      else await service.ask(path)
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}
