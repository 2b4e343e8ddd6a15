/** What a row of `/simplefin/accounts` costs when all is cached, against the same rows from REST. */
import { request } from 'undici'
import type { Figure } from './figures.ts'
import { startService } from './service.ts'
import { takeTurns } from './turns.ts'

const rounds = 7
const answersPerRound = 4
const goal = 1.3
const limit = 500

export async function measureSimplefin(): Promise<Figure[]> {
  const service = await startService()
  const { accounts, origin, key, claim } = service.programs
  const account = accounts.find(({ provider }) => provider === 'fiskil')
  const claimed = await request(`${origin}/simplefin/claim/${claim}`, { method: 'POST' })
  const access = new URL(await claimed.body.text())
  const basic = Buffer.from(`${access.username}:${access.password}`).toString('base64')
  let isWarm = false
  const get = async (path: string, authorization: string) => {
    const answer = await request(origin + path, { headers: { authorization } })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text.slice(0, 200)}`)
    // SimpleFIN has no such header; it reads the same answers.
    const cache = answer.headers['x-cache'] ?? 'HIT'
    if (isWarm && cache !== 'HIT') throw new Error(`${path} was not cached`)
    return text
  }
  const start = Date.parse('2023-01-01T00:00:00Z') / 1000
  const simplefin = async () => {
    const path = `/simplefin/accounts?account=${account?.id}&start-date=${start}`
    return JSON.parse(await get(path, `Basic ${basic}`)).accounts[0].transactions.length as number
  }
  const rest = async () => {
    await get(`/v1/balances?accountIds=${account?.id}`, `Bearer ${key}`)
    const query = `connectionId=${account?.connectionId}&accountId=${account?.id}&from=2022-12-31`
    let rows = 0
    for (let offset = 0; ; offset += limit) {
      const path = `/v1/transactions?${query}&limit=${limit}&offset=${offset}`
      const { data, pagination } = JSON.parse(await get(path, `Bearer ${key}`))
      rows += data.length
      if (!pagination.hasMore) return rows
    }
  }
  await simplefin()
  const expected = answersPerRound * (await rest())
  isWarm = true
  const perRow = (read: () => Promise<number>) => async () => {
    const before = await service.child.usage()
    let rows = 0
    for (let count = 0; count < answersPerRound; count += 1) rows += await read()
    if (rows !== expected) throw new Error(`${rows} rows instead of ${expected}`)
    const after = await service.child.usage()
    return { rows, micros: (after.cpuMicros - before.cpuMicros) / rows }
  }
  const turns = await takeTurns({ simplefin: perRow(simplefin), rest: perRow(rest) }, rounds)
  await service.stop()
  const [ours, anchor] = [turns.median('simplefin', 'micros'), turns.median('rest', 'micros')]
  const ratio = turns.ratio('simplefin', 'rest', 'micros')
  const rows = turns.median('simplefin', 'rows') / answersPerRound
  return [
    {
      bench: 'simplefin',
      what: `CPU of the service for a row of \`/simplefin/accounts\`, ${rows} cached rows`,
      figure: `${ours.toFixed(1)} µs`,
      anchor: `${anchor.toFixed(1)} µs for a row of \`/v1/transactions\``,
      ratio: ratio.toFixed(2),
      goal: `≤ ${goal}`,
      met: ratio <= goal,
    },
  ]
}
