/**
 * The examples of proxies, run by the real programs in front of the real service: what they log holds no
 * query and no secret of a path, and a body that is too large is refused in the words of the service. Paths,
 * ports and the certificate are replaced by those of the test. Where a program is not installed, its file has
 * been judged by the tests of the text alone (operations.test.ts, compose.test.ts).
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { makeCertificate } from '#tests/support/certificate.ts'
import { type Service, startService } from '#tests/support/service.ts'
import { readText } from './files.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

const has = (program: string) => spawnSync(program, ['-h'], { timeout: 20_000 }).error === undefined

async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-proxy-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Ends the program with the test; resolves when it listens. */
async function run(t: TestContext, child: ChildProcess, port: number): Promise<void> {
  const said: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (text: string) => said.push(text))
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (let tries = 0; tries < 100; tries += 1) {
    if (child.exitCode !== null) assert.fail(said.join(''))
    const isUp = await request(`http://127.0.0.1:${port}/`).then(
      async ({ body }) => body.dump().then(() => true),
      () => false,
    )
    if (isUp) return
    await delay(100)
  }
  assert.fail(`it does not listen: ${said.join('')}`)
}

/** Stands where a process would, and answers its own address to everything. */
async function listenAsProcess(t: TestContext, port = 0) {
  const server = createHttpServer((_request, response) => {
    response.end(`127.0.0.1:${(server.address() as AddressInfo).port}`)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  t.after(stop)
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}

type Process = Awaited<ReturnType<typeof listenAsProcess>>

/** `ask` asks through the proxy, and resolves to the address of the process that answered. */
async function judgeSpread(
  [first, second]: readonly [Process, Process],
  ask: (headers: Record<string, string>) => Promise<string>,
): Promise<void> {
  const both = [first.host, second.host].sort()
  const askAll = (all: readonly Record<string, string>[]) => Promise.all(all.map(ask))
  const distinct = (hosts: readonly string[]) => [...new Set(hosts)].sort()
  const keys = Array.from({ length: 24 }, (_, at) => ({ authorization: `Bearer key-${at}` }))
  const chosen = await askAll(keys)
  assert.deepEqual(distinct(chosen), both, 'the keys are spread')
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await askAll(keys), chosen)
  for (const headers of [{}, { cookie: 'one-person=1' }]) {
    const others = await askAll(Array.from({ length: 24 }, () => headers))
    assert.deepEqual(distinct(others), both, 'what has no key is spread')
  }
  first.stop()
  const without = [
    ...keys,
    ...keys.map(() => ({})),
    ...keys.map(() => ({ cookie: 'one-person=1' })),
  ]
  assert.deepEqual(distinct(await askAll(without)), [second.host], 'who is away is passed over')
}

interface Nginx {
  readonly plain: string
  readonly secure: string
  /** Everything that it has logged. */
  readonly logged: () => string
}

const named = { host: 'money.example.com' }

async function startNginx(t: TestContext, ...upstreams: readonly string[]): Promise<Nginx> {
  const folder = makeFolder(t)
  const { key, cert } = makeCertificate('money.example.com')
  const place = (name: string) => join(folder, name)
  writeFileSync(place('privkey.pem'), key)
  writeFileSync(place('fullchain.pem'), cert)
  const [plain = 0, secure = 0] = await findFreePorts(2)
  const ours = readText('deploy/nginx.conf')
    .replaceAll('/etc/letsencrypt/live/money.example.com', folder)
    .replaceAll('/var/log/nginx', folder)
    .replace(/^ *server 127\.0\.0\.1:3000(.*)$/m, (_line, rest) =>
      upstreams.map((upstream) => `server ${upstream}${rest}`).join('\n'),
    )
    .replaceAll('listen 80;', `listen 127.0.0.1:${plain};`)
    .replaceAll('listen 443 ssl;', `listen 127.0.0.1:${secure} ssl;`)
    .replace(/^.*\[::\].*\n/gm, '')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${place(kind)};`)
    .join('\n')
  const main = `daemon off; worker_processes 1; pid ${place('pid')};
error_log ${place('error.log')};
events {}
http {
access_log ${place('access.log')};
${temporary}
${ours}
}
`
  writeFileSync(place('nginx.conf'), main)
  const child = spawn('nginx', ['-p', folder, '-c', place('nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await run(t, child, plain)
  return {
    plain: `http://127.0.0.1:${plain}`,
    secure: `https://127.0.0.1:${secure}`,
    logged: () =>
      ['error.log', 'access.log', 'tributary.log']
        .map((name) => readFileSync(place(name), 'utf8'))
        .join(''),
  }
}

/** A line is written after its answer. */
async function waitForLine({ logged }: Nginx, line: RegExp): Promise<void> {
  for (let tries = 0; tries < 50 && !line.test(logged()); tries += 1) await delay(100)
  assert.match(logged(), line)
}

function makeClient(t: TestContext): Agent {
  const client = new Agent({ connect: { rejectUnauthorized: false, servername: named.host } })
  t.after(() => client.destroy())
  return client
}

const secretTarget = '/invitations/SECRET-OF-A-PATH?code=SECRET-OF-A-QUERY'
const hasSecret = /SECRET-OF/

test('nginx logs no query and no secret of a path: not of requests that it answers, not of those that it redirects, not of those that fail', async (t) => {
  if (!has('nginx')) return assert.match(readText('deploy/nginx.conf'), /error_log \/dev\/null/)
  const dispatcher = makeClient(t)
  const { host } = new URL(service.baseUrl)
  const alive = await startNginx(t, host)
  const [nobody] = await findFreePorts(1)
  const alone = await startNginx(t, `127.0.0.1:${nobody}`)
  const ask = async (origin: string, target: string) => {
    const { statusCode, body } = await request(origin + target, { dispatcher, headers: named })
    await body.dump()
    return statusCode
  }
  assert.equal(await ask(alive.plain, secretTarget), 308)
  await ask(alive.secure, secretTarget)
  assert.equal(await ask(alive.secure, '/v1/accounts?accountIds=SECRET-OF-A-QUERY'), 401)
  assert.equal(await ask(alone.secure, secretTarget), 502)
  await waitForLine(alive, /"GET \/invitations" 308/)
  await waitForLine(alive, /"GET \/v1\/accounts" 401 .* 401 /)
  // What failed is in the line of the request.
  await waitForLine(alone, /"GET \/invitations" 502 .* 502 /)
  for (const { logged } of [alive, alone]) assert.doesNotMatch(logged(), hasSecret)
})

test('a body over 64 KiB is refused behind nginx as without it, announced or in chunks, and no later request is lost', async (t) => {
  if (!has('nginx')) return assert.match(readText('deploy/nginx.conf'), /error_page 413 = @/)
  const dispatcher = makeClient(t)
  const { host } = new URL(service.baseUrl)
  const { secure, plain } = await startNginx(t, host)
  const large = 'x'.repeat(200_000)
  async function* pieces() {
    for (let at = 0; at < large.length; at += 10_000) yield large.slice(at, at + 10_000)
  }
  const post = async (origin: string, path: string, body: string | AsyncIterable<string>) => {
    const answer = await request(origin + path, {
      method: 'POST',
      dispatcher,
      body: body as string,
      headers: { ...named, 'content-type': 'application/json' },
    })
    return [answer.statusCode, answer.headers['content-type'], await answer.body.text()]
  }
  for (const path of ['/mcp', '/register', '/providers/akahu/webhook', '/v1/accounts']) {
    const expected = await post(service.baseUrl, path, large)
    for (const body of [large, pieces()])
      assert.deepEqual(await post(secure, path, body), expected, path)
    const next = await request(`${secure}/v1/accounts`, { dispatcher, headers: named })
    await next.body.dump()
    assert.equal(next.statusCode, 401)
  }
  assert.equal((await request(`${plain}/`, { headers: named })).statusCode, 308)
})

test('a head over 16 KiB is refused behind nginx in the words of the service', async (t) => {
  if (!has('nginx')) return assert.match(readText('deploy/nginx.conf'), /error_page 414 494 = /)
  const dispatcher = makeClient(t)
  const { secure } = await startNginx(t, new URL(service.baseUrl).host)
  const long = 'x'.repeat(20_000)
  const ask = async (origin: string, path: string, headers: Record<string, string>) => {
    const all = { ...named, ...headers }
    const answer = await request(origin + path, { dispatcher, headers: all })
    return [answer.statusCode, await answer.body.text()]
  }
  for (const [path, headers] of [
    [`/v1/accounts?code=${long}`, {}],
    ['/v1/accounts', { authorization: `Bearer ${long}` }],
  ] as const) {
    const expected = await ask(service.baseUrl, path, headers)
    assert.equal(expected[0], 431)
    assert.deepEqual(await ask(secure, path, headers), expected)
  }
})

test('behind nginx one key is answered by one process, other requests by all, and every request while one process is away', async (t) => {
  if (!has('nginx')) return assert.match(readText('deploy/nginx.conf'), /hash \$http_auth/)
  const dispatcher = makeClient(t)
  const processes = [await listenAsProcess(t), await listenAsProcess(t)] as const
  const { secure } = await startNginx(t, ...processes.map(({ host }) => host))
  await judgeSpread(processes, async (headers) => {
    const all = { ...named, ...headers }
    const answer = await request(`${secure}/v1/accounts`, { dispatcher, headers: all })
    return answer.body.text()
  })
})

test('behind nginx processes that are replaced one right after the other answer every request', async (t) => {
  if (!has('nginx')) return assert.match(readText('deploy/nginx.conf'), /max_fails=0/)
  const dispatcher = makeClient(t)
  const processes = [await listenAsProcess(t), await listenAsProcess(t)]
  const { secure } = await startNginx(t, ...processes.map(({ host }) => host))
  const askWithKeys = () =>
    Promise.all(
      Array.from({ length: 24 }, async (_, at) => {
        const headers = { ...named, authorization: `Bearer key-${at}` }
        const answer = await request(`${secure}/v1/accounts`, { dispatcher, headers })
        await answer.body.dump()
        return answer.statusCode
      }),
    )
  for (const { host, stop } of processes) {
    stop()
    assert.deepEqual([...new Set(await askWithKeys())], [200], `without ${host}`)
    await listenAsProcess(t, Number(host.split(':')[1]))
    assert.deepEqual([...new Set(await askWithKeys())], [200], `with ${host} again`)
  }
})

interface Caddy {
  readonly port: number
  /** Everything that it has logged. */
  readonly logged: () => string
}

async function startCaddy(t: TestContext, upstreams: string, tries = '3s'): Promise<Caddy> {
  const folder = makeFolder(t)
  const [port = 0] = await findFreePorts(1)
  const text = readText('deploy/Caddyfile')
    .replace('api-1:3000 api-2:3000', upstreams)
    .replace('lb_try_duration 5s', `lb_try_duration ${tries}`)
    .replace(/^\{$/m, '{\n\tadmin off')
  writeFileSync(join(folder, 'Caddyfile'), text)
  const said: string[] = []
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', 'Caddyfile'], {
    cwd: folder,
    env: { HOME: folder, BASE_URL: `http://127.0.0.1:${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr.setEncoding('utf8').on('data', (line: string) => said.push(line))
  await run(t, child, port)
  return { port, logged: () => said.join('') }
}

test('Caddy logs neither target nor headers of a request that fails', async (t) => {
  if (!has('caddy')) return assert.match(readText('deploy/Caddyfile'), /request>uri delete/)
  const [nobody] = await findFreePorts(1)
  const { port, logged } = await startCaddy(t, `127.0.0.1:${nobody}`, '100ms')
  const { statusCode } = await request(`http://127.0.0.1:${port}${secretTarget}`, {
    headers: { referer: 'http://127.0.0.1/SECRET-OF-A-PAGE' },
  })
  // 502 until it knows that nobody listens there, then 503.
  assert.ok([502, 503].includes(statusCode), String(statusCode))
  assert.match(logged(), new RegExp(`"status":${statusCode}`))
  assert.doesNotMatch(logged(), hasSecret)
})

/** Sends a body whose first chunk has no size, and waits for the end of the connection. */
async function sendBrokenBody(port: number): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.end(
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n`,
  )
  return (await socket.toArray()).join('')
}

test('behind Caddy a client whose own requests break off puts no process out of service for others', async (t) => {
  if (!has('caddy')) return assert.doesNotMatch(readText('deploy/Caddyfile'), /^\s*fail_duration/m)
  const { port } = await startCaddy(t, new URL(service.baseUrl).host)
  for (let round = 0; round < 4; round += 1) {
    assert.match(await sendBrokenBody(port), /^HTTP\/1\.1 [45]/)
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/v1/accounts`)
    await body.dump()
    assert.equal(statusCode, 401, `round ${round}`)
  }
})

test('behind Caddy one key is answered by one process, other requests by all, and every request while one process is away', async (t) => {
  if (!has('caddy')) return assert.match(readText('deploy/Caddyfile'), /lb_policy header Auth/)
  const processes = [await listenAsProcess(t), await listenAsProcess(t)] as const
  const { port } = await startCaddy(t, processes.map(({ host }) => host).join(' '))
  await judgeSpread(processes, async (headers) => {
    const answer = await request(`http://127.0.0.1:${port}/v1/accounts`, { headers })
    return answer.body.text()
  })
})
