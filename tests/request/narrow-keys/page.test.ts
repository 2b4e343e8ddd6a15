/** docs/narrow-keys.md: its commands and requests as they are written, on a running service. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { runCommand } from '#tests/support/command.ts'
import { startService } from '#tests/support/service.ts'

const service = await startService({ env: { TRUST_PROXY: '127.0.0.1' } })
const user = await service.createUser()
await service.link(user, 'healthy', 'fiskil')
const page = await readFile(new URL('../../../docs/narrow-keys.md', import.meta.url), 'utf8')
const examples = [...page.matchAll(/<!-- example -->\n```sh\n(.*)\n```/g)].map(
  ([, line = '']) => line,
)
after(() => service.close())

/** Names in the text that stand for what the reader has. */
const fill = (line: string, names: Readonly<Record<string, string>>) =>
  line.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => names[name] ?? assert.fail(name))

async function tributary(line: string) {
  const [command, ...words] = line.split(' ')
  assert.equal(command, 'tributary')
  const environment = { ADMIN_URL: service.adminUrl, ADMIN_TOKEN: service.adminToken }
  const { code, out, err } = await runCommand([...words, '--json'], { environment })
  assert.deepEqual([code, err], [0, ''])
  return JSON.parse(out)
}

/** A request that the page makes with `curl`, from the network of the example. */
function ask(line: string) {
  const [, key = '', url = ''] =
    /^curl -s -H "Authorization: Bearer ([^"]+)" "([^"]+)"$/.exec(line) ?? assert.fail(line)
  const headers = { 'x-forwarded-for': '192.168.1.20' }
  return service.get(url.slice(service.baseUrl.length), `Bearer ${key}`, headers)
}

test('R43: the example of the page works as it is written', async () => {
  const [create = '', balances = '', transactions = '', rotate = '', ...rest] = examples
  assert.deepEqual(rest, [])
  const account = (await service.accounts(user)).find(({ name }) => name === 'Everyday')
  assert(account !== undefined)
  const names = {
    ACCOUNT: account.id,
    CONNECTION: account.connectionId,
    BASE_URL: service.baseUrl,
  }
  const line = fill(create, names).replace('emma@example.com', user.id)
  const { id, key } = await tributary(line)
  const shown = await ask(fill(balances, { ...names, KEY: key }))
  assert.equal(shown.body.data[0].accountId, account.id)
  const refused = await ask(fill(transactions, { ...names, KEY: key }))
  assert.equal(refused.status, 403)
  assert.ok(page.includes(refused.text), refused.text)
  const rotated = await tributary(fill(rotate, { KEY_ID: id }))
  for (const secret of [key, rotated.key]) {
    assert.equal((await ask(fill(balances, { ...names, KEY: secret }))).status, 200)
  }
  const { data } = await tributary(`tributary keys list ${user.id}`)
  const listed = data.find((row: { id: string }) => row.id === id)
  assert.equal(listed.formerUntil, rotated.formerUntil)
  assert.deepEqual(listed.scopes, ['balances'])
})
