/**
 * Installs that do not come to their end: stopped, killed, without a registry, on a full disk. npm is a
 * stand-in that behaves as npm does in each case; the signals and the processes are real.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeTree, runtime, type Tree } from './starter-tree.ts'

/** As npm ci: what is there goes first. */
const copy =
  "fs.rmSync('node_modules', { recursive: true, force: true }); fs.cpSync('made', 'node_modules', { recursive: true, verbatimSymlinks: true })"
const waitFor = async (file: string) => {
  for (let tries = 0; tries < 300 && !existsSync(file); tries += 1) await sleep(50)
  return readFileSync(file, 'utf8')
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function finish(child: ChildProcess) {
  const output = { out: '', err: '' }
  child.stdout?.on('data', (chunk) => {
    output.out += String(chunk)
  })
  child.stderr?.on('data', (chunk) => {
    output.err += String(chunk)
  })
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** npm, and a process of npm, that take no notice of signals: both go on until they are killed. */
const stubborn = `
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
const { pid } = require('node:child_process').spawn(process.execPath, ['-e', "process.on('SIGINT', () => {}); setInterval(() => {}, 1000)"], { stdio: 'inherit' })
fs.writeFileSync('pids.new', process.pid + ' ' + pid)
setTimeout(() => fs.renameSync('pids.new', 'pids'), 300)
setInterval(() => {}, 1000)`

function assertIncomplete(tree: Tree, ended: { code: unknown; out: string; err: string }) {
  assert.deepEqual([ended.code, ended.out], [1, ''])
  assert.match(ended.err, /install incomplete: .*; the next start installs again\n$/)
  assert.ok(!existsSync(join(tree.folder, 'node_modules/.package-lock.json')))
  assert.ok(!existsSync(join(tree.folder, '.tributary-installing')))
}

test('a signal during an install ends npm as a whole before the starter ends, and the next start installs again', async (t) => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    const tree = makeTree(t)
    tree.setNpm(stubborn)
    const starter = tree.begin('src/main.ts')
    const ending = finish(starter)
    const pids = (await waitFor(join(tree.folder, 'pids'))).split(' ').map(Number)
    process.kill(-Number(starter.pid), signal)
    const ended = await ending
    assert.equal(ended.code, code)
    // A process whose parent has ended counts until the system has taken note of its end.
    for (let tries = 0; tries < 100 && pids.some(isAlive); tries += 1) await sleep(20)
    assert.deepEqual(pids.map(isAlive), [false, false])
    assertIncomplete(tree, { ...ended, code: 1 })
    assert.match(ended.err, new RegExp(`stopped by ${signal}`))
    tree.install(false, 'made')
    tree.setNpm(copy)
    assert.equal(tree.run('src/main.ts').out, 'ran src/main.ts\n')
  }
})

test('the npm of a starter that was killed is waited for: two never install at once', async (t) => {
  const tree = makeTree(t)
  tree.install(false, 'made')
  tree.setNpm(
    `const wait = setInterval(() => { if (!fs.existsSync('go')) return; clearInterval(wait); ${copy} }, 50)`,
  )
  const first = tree.begin('src/main.ts')
  const npm = Number(await waitFor(join(tree.folder, '.tributary-installing/npm')))
  first.kill('SIGKILL')
  await once(first, 'exit')
  const second = tree.begin('src/main.ts')
  let said = ''
  second.stderr?.on('data', (chunk) => {
    said += String(chunk)
  })
  const ending = finish(second)
  for (let tries = 0; tries < 300 && said === ''; tries += 1) await sleep(50)
  assert.equal(said, `tributary: waiting for the install of process ${npm}\n`)
  writeFileSync(join(tree.folder, 'go'), '')
  const { code, out } = await ending
  assert.deepEqual([code, out], [0, 'ran src/main.ts\n'])
  assert.equal(tree.calls().split('\n').length, 2)
})

test('a lock that was made on a full disk, and names nobody, is taken over at once', (t) => {
  const tree = makeTree(t)
  tree.install(false, 'made')
  tree.setNpm(copy)
  mkdirSync(join(tree.folder, '.tributary-installing'))
  writeFileSync(join(tree.folder, '.tributary-installing/pid'), '')
  const ended = tree.run('src/main.ts')
  assert.equal(ended.out, 'ran src/main.ts\n')
  assert.doesNotMatch(ended.err, /waiting for/)
})

test('a clone that this user may not write is named with what to do', (t) => {
  const tree = makeTree(t)
  // Node reads the starter as root still, and only the lock is taken as nobody.
  const drop = 'if (process.getuid() === 0) process.seteuid(65534)\n'
  const lock = join(tree.folder, 'scripts/install-lock.js')
  writeFileSync(lock, `${readFileSync(lock, 'utf8')}\n${drop}`)
  chmodSync(tree.folder, 0o555)
  const { code, err } = tree.run('src/main.ts')
  chmodSync(tree.folder, 0o755)
  assert.equal(code, 1)
  assert.match(
    err,
    /^tributary: the packages cannot be installed: EACCES: .*; start it as a user who may write there, or in a clone of yours\n$/,
  )
})

test('npm that cannot write a file and says that all is well is not believed: the reason is told', (t) => {
  const tree = makeTree(t)
  tree.install(false, 'made')
  const words = 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write'
  tree.setNpm(`console.error(${JSON.stringify(words)})\n${copy}\nconsole.log('added 443 packages')`)
  const ended = tree.run('src/main.ts')
  assertIncomplete(tree, ended)
  assert.match(ended.err, /a file could not be written: ENOSPC: no space left on device/)
})

test('nothing starts from an install with a package or the runtime missing: it is installed again, or named', (t) => {
  const tree = makeTree(t)
  tree.install(false)
  tree.install(false, 'made')
  for (const lost of ['served', 'served/package.json', runtime.slice('node_modules/'.length)]) {
    rmSync(join(tree.folder, 'node_modules', lost), { recursive: true })
    tree.setNpm(copy)
    assert.equal(tree.run('src/main.ts').out, 'ran src/main.ts\n')
  }
  assert.equal(tree.calls().split('\n').length, 4)
  rmSync(join(tree.folder, 'node_modules'), { recursive: true })
  tree.setNpm(`${copy}\nfs.rmSync('node_modules/served', { recursive: true })`)
  const partial = tree.run('src/main.ts')
  assertIncomplete(tree, partial)
  assert.match(partial.err, /node_modules\/served is missing after npm ci/)
  tree.setNpm(`${copy}\nfs.rmSync('${runtime}/bin', { recursive: true })`)
  const skipped = tree.run('src/main.ts')
  assertIncomplete(tree, skipped)
  assert.match(skipped.err, /npm left out the pinned runtime/)
  assert.doesNotMatch(skipped.err, /no pinned Node runtime for/)
})

test('nothing starts on a runtime that is empty, cut off or may not be run: it is installed again, or named', (t) => {
  const tree = makeTree(t)
  const program = join(tree.folder, runtime, 'bin/node')
  const put = () => {
    mkdirSync(join(tree.folder, runtime, 'bin'), { recursive: true })
    copyFileSync(process.execPath, program)
  }
  put()
  tree.install(false)
  tree.install(false, 'made')
  tree.setNpm(copy)
  assert.equal(tree.run('src/main.ts').out, 'ran src/main.ts\n')
  assert.equal(tree.calls(), '')
  const harms = [
    () => truncateSync(program, 0),
    () => truncateSync(program, statSync(program).size - 1),
    () => chmodSync(program, 0o644),
  ]
  for (const harm of harms) {
    rmSync(program)
    put()
    harm()
    assert.equal(tree.run('src/main.ts').out, 'ran src/main.ts\n')
  }
  assert.equal(tree.calls().split('\n').length, 4)
  rmSync(join(tree.folder, 'node_modules'), { recursive: true })
  const empty = `fs.rmSync('${runtime}/bin/node'); fs.writeFileSync('${runtime}/bin/node', '', { mode: 0o755 })`
  tree.setNpm(`${copy}\n${empty}`)
  const cut = tree.run('src/main.ts')
  assertIncomplete(tree, cut)
  assert.match(cut.err, /bin\/node is cut off, or may not be run/)
})

test('an install without development packages that was cut off is made alike by the next start', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  tree.lock('2.0.0')
  tree.setNpm("fs.rmSync('node_modules', { recursive: true })\nprocess.exit(1)")
  assertIncomplete(tree, tree.run('src/main.ts'))
  tree.lock()
  tree.install(true, 'made')
  tree.setNpm(copy)
  assert.equal(tree.run('src/main.ts').out, 'ran src/main.ts\n')
  const omit = tree.calls().match(/--omit=dev/g)
  assert.deepEqual([omit?.length, tree.calls().split('\n').length], [2, 3])
  assert.ok(!existsSync(join(tree.folder, '.tributary-omits-dev')))
})

/** One run of npm with short limits; what it says, then what it ends with. */
function runNpm(tree: Tree, text: string) {
  tree.setNpm(text)
  writeFileSync(
    join(tree.folder, 'scripts/try.js'),
    `import { runNpmCi } from './npm-ci.js'
const limits = { failingLimitMs: 400, silenceLimitMs: 800 }
const ended = await runNpmCi({ root: '.', flags: [], say: console.log, watchParent: () => () => {}, onStart: () => {}, ...limits })
console.log(JSON.stringify(ended?.reason ?? null))`,
  )
  const { stdout } = spawnSync(process.execPath, ['scripts/try.js'], {
    ...{ cwd: tree.folder, env: { PATH: join(tree.folder, 'bin') } },
    ...{ encoding: 'utf8', timeout: 30_000 },
  })
  return stdout
}

test('a registry that no request reaches, or that is sick, ends the install with the reason; one that answers late does not', (t) => {
  const tree = makeTree(t)
  const refuse = "console.error('npm http fetch GET http://r/a attempt 1 failed with ECONNREFUSED')"
  const answer = "console.error('npm http fetch GET 200 http://r/a 9ms (cache miss)')"
  assert.match(
    runNpm(tree, `${refuse}\nsetInterval(() => {}, 1000)`),
    /^"the package registry cannot be reached \(ECONNREFUSED\); .*registry and proxy"\n$/,
  )
  const sick = runNpm(tree, `${refuse.replace('ECONNREFUSED', '500')}\nsetInterval(() => {}, 1000)`)
  assert.match(sick, /^"the package registry answers with status 500; .*registry and proxy"\n$/)
  const late = `${refuse}\nsetTimeout(() => ${answer}, 50)\nsetTimeout(() => {}, 1500)`
  assert.equal(runNpm(tree, late), 'null\n')
  assert.match(
    runNpm(tree, 'setTimeout(() => {}, 1500)'),
    /^tributary: the package registry has not answered yet; .*\nnull\n$/,
  )
})
