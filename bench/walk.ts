/**
 * All windows of a walk over 5,400 rows, 200 at a time: every page of the provider is fetched once (reading
 * R19).
 */
import type { Figure } from './figures.ts'
import { measureLargeWalk } from './large-walk.ts'
import { type MeasuredService, startService } from './service.ts'
import { median } from './turns.ts'

const rounds = 7
const limit = 200
const laterGoal = 0.4

interface Walked {
  readonly windows: number
  /** CPU of the first window and of each later one on average, in milliseconds. */
  readonly firstMs: number
  readonly laterMs: number
}

export async function measureWalk(): Promise<Figure[]> {
  const service = await startService()
  await walk(service)
  await service.reset('transactions', 0)
  const samples: (Walked & { readonly wallMs: number; readonly cpuMs: number })[] = []
  const fetched: (readonly string[])[] = []
  for (let round = 0; round < rounds; round += 1) {
    const before = await service.child.usage()
    const started = performance.now()
    const walked = await walk(service)
    const wallMs = performance.now() - started
    const after = await service.child.usage()
    samples.push({ wallMs, cpuMs: (after.cpuMicros - before.cpuMicros) / 1000, ...walked })
    fetched.push(await service.reset('transactions', 0))
  }
  await service.stop()
  return [...toFigures(samples, fetched), ...(await measureLargeWalk())]
}

/** Walks to the end. */
async function walk(service: MeasuredService): Promise<Walked> {
  const from = service.freshFrom()
  const begun = await service.child.usage()
  let afterFirst = begun
  const seen = new Set<string>()
  for (let windows = 1; windows <= 100; windows += 1) {
    const offset = (windows - 1) * limit
    const query = `from=${from}&limit=${limit}&offset=${offset}`
    const { data, pagination } = await service.window('transactions', query, 'MISS')
    for (const { id } of data) seen.add(id)
    if (windows === 1) afterFirst = await service.child.usage()
    if (pagination.hasMore) continue
    if (seen.size !== offset + data.length) throw new Error('a row came twice or not at all')
    const ended = await service.child.usage()
    const laterMicros = (ended.cpuMicros - afterFirst.cpuMicros) / (windows - 1)
    const firstMicros = afterFirst.cpuMicros - begun.cpuMicros
    return { windows, firstMs: firstMicros / 1000, laterMs: laterMicros / 1000 }
  }
  throw new Error('the walk does not end')
}

function toFigures(
  samples: readonly (Walked & { readonly wallMs: number; readonly cpuMs: number })[],
  fetched: readonly (readonly string[])[],
): Figure[] {
  const pages = fetched[0] ?? []
  const once = fetched.every((list) => new Set(list).size === list.length)
  const windows = samples[0]?.windows ?? 0
  const per = (figure: 'wallMs' | 'cpuMs' | 'firstMs' | 'laterMs') =>
    median(samples.map((sample) => sample[figure]))
  return [
    {
      bench: 'walk',
      what: `provider pages fetched for ${windows} windows of ${limit} rows`,
      figure: String(pages.length),
      anchor: `${new Set(pages).size} pages there are`,
      ratio: (pages.length / new Set(pages).size).toFixed(2),
      goal: 'each once',
      met: once,
    },
    {
      bench: 'walk',
      what: `wall time and CPU of all ${windows} windows`,
      figure: `${per('wallMs').toFixed(0)} ms, ${per('cpuMs').toFixed(0)} ms CPU`,
      anchor: '',
      ratio: '',
      goal: '',
      met: null,
    },
    {
      bench: 'walk',
      what: 'CPU of a later window',
      figure: `${per('laterMs').toFixed(1)} ms`,
      anchor: `${per('firstMs').toFixed(1)} ms, the first window`,
      ratio: (per('laterMs') / per('firstMs')).toFixed(2),
      goal: `≤ ${laterGoal}`,
      met: per('laterMs') <= laterGoal * per('firstMs'),
    },
  ]
}
