/**
 * All windows of 5,000 rows by 200, one after another: reading R19 promises that each provider page is fetched once.
 * Held against the pages that there are.
 */
import type { Figure } from './figures.ts'
import { startService } from './service.ts'

const windowRows = 200
const rows = 5000

export async function measureWalk(): Promise<Figure[]> {
  const service = await startService()
  const from = service.freshFrom()
  await service.window('transactions', `from=${service.freshFrom()}&limit=1`, 'MISS')
  await service.reset('transactions', 0)
  const before = await service.child.usage()
  const started = performance.now()
  const seen = new Set<string>()
  for (let offset = 0; offset < rows; offset += windowRows) {
    const query = `from=${from}&limit=${windowRows}&offset=${offset}`
    const { data } = await service.window('transactions', query, 'MISS')
    for (const row of data) seen.add(row.id)
  }
  const wallMs = performance.now() - started
  const after = await service.child.usage()
  const served = await service.reset('transactions', 0)
  await service.stop()
  if (seen.size !== rows) throw new Error(`the walk showed ${seen.size} rows instead of ${rows}`)
  const distinct = new Set(served).size
  const cpuMs = (after.cpuMicros - before.cpuMicros) / 1000
  return [
    {
      bench: 'walk',
      what: `provider pages of all ${rows / windowRows} windows of ${rows} rows`,
      figure: `${served.length} fetched`,
      anchor: `${distinct} different pages`,
      ratio: (served.length / distinct).toFixed(2),
      goal: '1.00',
      met: served.length === distinct,
    },
    {
      bench: 'walk',
      what: 'the same walk',
      figure: `${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU`,
      anchor: '',
      ratio: '',
      goal: '',
      met: null,
    },
  ]
}
