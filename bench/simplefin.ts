/**
 * What `/simplefin/accounts` costs for each row when everything is cached, against the same rows from REST,
 * and against REST with what every client does next: it parses the JSON.
 */
import { request } from 'undici'
import type { Figure } from './figures.ts'
import { startService } from './service.ts'
import { takeTurns } from './turns.ts'

const rounds = 7
const answersPerRound = 4
const goal = 1.3
const limit = 500

interface Reply {
  readonly text: string
  readonly cache: string
}

export async function measureSimplefin(): Promise<Figure[]> {
  const service = await startService()
  const { accounts, origin, key, claim } = service.programs
  const account = accounts.find(({ provider }) => provider === 'fiskil')
  const claimed = await request(`${origin}/simplefin/claim/${claim}`, { method: 'POST' })
  const access = new URL(await claimed.body.text())
  const basic = Buffer.from(`${access.username}:${access.password}`).toString('base64')
  const get = async (path: string, authorization: string): Promise<Reply> => {
    const answer = await request(origin + path, { headers: { authorization } })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text.slice(0, 200)}`)
    return { text, cache: String(answer.headers['x-cache']) }
  }
  const start = Date.parse('2023-01-01T00:00:00Z') / 1000
  const simplefin = async () => {
    const path = `/simplefin/accounts?account=${account?.id}&start-date=${start}`
    const { text } = await get(path, `Basic ${basic}`)
    return JSON.parse(text).accounts[0].transactions.length as number
  }
  const rest = async () => {
    await get(`/v1/balances?accountIds=${account?.id}`, `Bearer ${key}`)
    const query = `connectionId=${account?.connectionId}&accountId=${account?.id}&from=2022-12-31`
    let rows = 0
    for (let offset = 0; ; offset += limit) {
      const path = `/v1/transactions?${query}&limit=${limit}&offset=${offset}`
      const { data, pagination } = JSON.parse((await get(path, `Bearer ${key}`)).text)
      rows += data.length
      if (!pagination.hasMore) return rows
    }
  }
  const perRow = (read: () => Promise<number>) => async () => {
    const before = await service.child.usage()
    let rows = 0
    for (let count = 0; count < answersPerRound; count += 1) rows += await read()
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
