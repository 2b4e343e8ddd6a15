/**
 * The recipes with the programs themselves: beancount, hledger, ledger, ofxdump, the scripts for Google
 * Sheets and n8n, and the queries of the dashboard for Grafana.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import vm from 'node:vm'
import { runCommand } from '#tests/support/command.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { mintSecret, signatureHeaders } from '#webhooks/sign.ts'
import { sum } from '../../sdk/typescript/index.js'
import { root } from './readme.ts'

let service: Service
let folder: string
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
let account: any
let amounts: string[]
let environment: Record<string, string>
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tributary-recipes-'))
  service = await startService()
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  environment = { TRIBUTARY_API_KEY: user.key, TRIBUTARY_BASE_URL: service.baseUrl }
  const { body } = await service.get('/v1/accounts', user)
  account = body.data.find(({ type }: { type: string }) => type === 'transaction')
  const { out } = await write('json')
  amounts = JSON.parse(out).rows.map(({ amount }: { amount: string }) => amount)
  assert(amounts.length > 50)
})
after(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

const write = (format: string) =>
  runCommand(['export', '--account', account.id, '--from', '2026-08-01', '--format', format], {
    environment,
  })

const run = (file: string, args: readonly string[], input = '') =>
  execFileSync(file, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
  })

/** The block of code of this language in a recipe. */
async function blockOf(recipe: string, language: string): Promise<string> {
  const text = await readFile(join(root, 'docs/recipes', recipe), 'utf8')
  return text.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? assert.fail(recipe)
}

test('OFX: ofxdump reads every row of the file, with its id and the exact sum', async () => {
  await writeFile(join(folder, 'a.ofx'), (await write('ofx')).out)
  const text = run('ofxdump', ['a.ofx'])
  assert.equal(text.match(/ofx_proc_transaction\(\)/g)?.length, amounts.length)
  const read = [...text.matchAll(/Total money amount: (-?[\d.]+)/g)].map(
    ([, amount = '']) => amount,
  )
  assert.equal(Number(sum(read)).toFixed(2), Number(sum(amounts)).toFixed(2))
})

test('beancount: the script of the recipe makes a journal without a fault, and its balance is the exact sum', async () => {
  await writeFile(join(folder, 'to-beancount.py'), await blockOf('beancount.md', 'python'))
  const journal = run('/usr/bin/python3', ['to-beancount.py'], (await write('csv')).out)
  await writeFile(join(folder, 'a.beancount'), journal)
  assert.equal(run('bean-check', ['a.beancount']), '')
  const postings = [...journal.matchAll(/Assets:Bank:Everyday {2}(-?[\d.]+) AUD/g)].map(
    ([, amount = '']) => amount,
  )
  assert.equal(sum(postings), sum(amounts))
})

test('hledger and ledger: the rules of the recipe read the file, and both balances are the exact sum', async () => {
  await writeFile(join(folder, 'everyday.csv'), (await write('csv')).out)
  await writeFile(join(folder, 'everyday.csv.rules'), await blockOf('hledger.md', 'rules'))
  const balance = run('hledger', ['-f', 'everyday.csv', 'balance', 'assets', '--no-total'])
  assert.equal(balance.trim().split(/\s+/)[0], sum(amounts))
  await writeFile(join(folder, 'a.journal'), run('hledger', ['-f', 'everyday.csv', 'print']))
  const ledger = run('ledger', ['-f', 'a.journal', 'balance', 'assets'])
  assert.equal(ledger.trim().split(/\s+/)[0], sum(amounts))
})

/** What a sheet in German makes of a value that is written into a cell. */
function enter(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.startsWith("'")) return value.slice(1)
  assert(!/^[=+@-]/.test(value), `${value} is a formula`)
  assert(!/^[\d.,-]+$/.test(value), `${value} is read as a number or a day`)
  return value
}

test('Google Sheets: the script reads every page, adds each row once, waits when it is told to, and no language of a sheet changes a value', async () => {
  const cells: unknown[][] = []
  const range = (row: number, _column: number, rows: number, columns: number) => ({
    getValues: () => cells.slice(row - 1, row - 1 + rows).map((line) => line.slice(0, columns)),
    setValues: (values: unknown[][]) => {
      for (const [index, line] of values.entries()) cells[row - 1 + index] = line.map(enter)
    },
  })
  const sheet = { getLastRow: () => cells.length, getRange: range }
  const book = { getSheetByName: () => sheet, getSpreadsheetTimeZone: () => 'Europe/Berlin' }
  const settings: Record<string, string> = {
    ...environment,
    CONNECTION_ID: account.connectionId,
    ACCOUNT_ID: account.id,
  }
  const headers = { authorization: `Bearer ${environment.TRIBUTARY_API_KEY}` }
  const script = await readFile(join(root, 'docs/recipes/files/google-sheets.gs.js'), 'utf8')
  const asked: string[] = []
  const slept: number[] = []
  // Google's fetch waits; here every page was read before.
  const pages = new Map<string, string>()
  const context = vm.createContext({
    SpreadsheetApp: { getActiveSpreadsheet: () => book },
    PropertiesService: {
      getScriptProperties: () => ({ getProperty: (name: string) => settings[name] }),
    },
    UrlFetchApp: {
      fetch(url: string) {
        asked.push(url)
        const text = pages.get(url)
        if (text !== undefined && slept.length === 0)
          return { getResponseCode: () => 429, getHeaders: () => ({ 'retry-after': '7' }) }
        return {
          getResponseCode: () => (text === undefined ? 503 : 200),
          getContentText: () => text ?? url,
          getHeaders: () => ({}),
        }
      },
    },
    Utilities: {
      sleep: (ms: number) => slept.push(ms),
      parseDate: (text: string, zone: string, format: string) => {
        assert.equal(format, 'yyyy-MM-dd')
        return new Date(Temporal.PlainDate.from(text).toZonedDateTime(zone).epochMilliseconds)
      },
    },
  })
  vm.runInContext(script, context)
  for (let turn = 0; turn < 20; turn += 1) {
    try {
      vm.runInContext('syncTransactions()', context)
      break
    } catch {
      const url = asked.at(-1) ?? assert.fail()
      pages.set(url, await (await fetch(url, { headers })).text())
    }
  }
  const wanted = [...pages.values()].flatMap((text) => JSON.parse(text).data)
  assert(wanted.length > 10)
  assert.equal(new Set(wanted.map(({ id }) => id)).size, wanted.length)
  assert.deepEqual(
    cells.slice(1).map((line) => [...line]),
    wanted.map((row) => [
      row.id,
      new Date(
        Temporal.PlainDate.from(row.date).toZonedDateTime('Europe/Berlin').epochMilliseconds,
      ),
      Number(row.amount),
      row.description,
      row.merchantName ?? '',
      row.category ?? '',
    ]),
  )
  assert.deepEqual(slept, [7000])
  vm.runInContext('syncTransactions()', context)
  assert.equal(cells.length - 1, wanted.length, 'a second run adds nothing')
})

test('n8n: the code of the workflow accepts what the service signed, and refuses another secret and an old event', async () => {
  const workflow = JSON.parse(
    await readFile(join(root, 'docs/recipes/files/n8n-webhook.json'), 'utf8'),
  )
  const { parameters } = workflow.nodes.find(({ name }: { name: string }) => name === 'Verify')
  const verify = new Function('require', '$input', '$env', parameters.jsCode)
  const secret = mintSecret()
  const text = '{"id":"e1","type":"transactions.synced"}'
  const body = new Uint8Array(Buffer.from(text))
  const timestamp = Math.floor(Date.now() / 1000)
  const check = (sent: number, with_: string) => {
    const headers = signatureHeaders({ id: 'e1' as never, timestamp: sent, body }, [secret])
    const item = {
      json: { headers },
      binary: { data: { data: Buffer.from(text).toString('base64') } },
    }
    return verify(
      (name: string) => process.getBuiltinModule(name),
      { first: () => item },
      { TRIBUTARY_WEBHOOK_SECRET: with_ },
    )
  }
  assert.deepEqual(check(timestamp, secret), [{ json: { id: 'e1', event: JSON.parse(text) } }])
  assert.throws(() => check(timestamp, mintSecret()), /not signed/)
  assert.throws(() => check(timestamp - 3600, secret), /too old/)
})

test('Grafana: each panel’s query, with every page that Infinity asks for, gives its columns, each row once', async () => {
  const file = join(root, 'docs/recipes/files/grafana-dashboard.json')
  const { panels } = JSON.parse(await readFile(file, 'utf8'))
  assert.equal(panels.length, 2)
  const headers = { authorization: `Bearer ${environment.TRIBUTARY_API_KEY}` }
  for (const { title, targets } of panels) {
    const [target] = targets
    assert.deepEqual([target.type, target.source, target.parser], ['json', 'url', 'backend'])
    const variables: Record<string, string> = {
      connection: account.connectionId,
      account: account.id,
      '__from:date:YYYY-MM-DD': '2026-08-01',
    }
    const path = target.url.replace(
      /\$\{([^}]+)\}/g,
      (_: string, name: string) => variables[name] ?? assert.fail(name),
    )
    const rows: Record<string, unknown>[] = []
    // It asks for all pages, also for those behind the end.
    for (let page = 0; page < (target.pagination_max_pages ?? 1); page += 1) {
      const url = new URL(service.baseUrl + path)
      if (target.pagination_mode === 'offset') {
        const size = target.pagination_param_size_value
        const offset = target.pagination_param_offset_value + page * size
        url.searchParams.append(target.pagination_param_size_field_name, `${size}`)
        url.searchParams.append(target.pagination_param_offset_field_name, `${offset}`)
      }
      const answer = await fetch(url, { headers })
      assert.equal(answer.status, 200, `${title}: ${url.search}`)
      const body = (await answer.json()) as Record<string, Record<string, unknown>[]>
      rows.push(...(body[target.root_selector] ?? assert.fail('no rows')))
    }
    assert.equal(rows.length, target.pagination_mode === 'offset' ? amounts.length : 1, title)
    for (const { selector } of target.columns) assert(selector in (rows[0] ?? {}), selector)
  }
})
