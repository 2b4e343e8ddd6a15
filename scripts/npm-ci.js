/**
 * One run of `npm ci` for the starter: plain JavaScript that any Node 20 can run. npm retries for minutes and
 * reports an install on a full disk as a success, so its output is read: a registry that cannot be reached,
 * or a file that cannot be written, ends the run with its reason. npm has a process group of its own, which a
 * signal to the starter ends as a whole: when the promise is settled, nothing of npm runs any more.
 */
import { spawn } from 'node:child_process'

const usualLimits = { failingLimitMs: 15_000, silenceLimitMs: 20_000 }
const maxLineLength = 4096
const windows = process.platform === 'win32'
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Resolves with null when npm ended well, else with what ended it: a sentence, and the signal if it was one.
 * @param onStart called with npm's process id.
 */
export function runNpmCi({ root, flags, say, watchParent, onStart, ...limits }) {
  const args = ['ci', '--no-audit', '--no-fund', '--no-color', '--loglevel=http', ...flags]
  const npm = spawn(windows ? 'npm.cmd' : 'npm', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: windows,
    detached: !windows,
  })
  let ended = null
  const end = (why) => {
    ended ??= why
    killAll(npm)
  }
  const handlers = signals.map((signal) => [
    signal,
    () => end({ signal, reason: `stopped by ${signal}` }),
  ])
  for (const [signal, handler] of handlers) process.on(signal, handler)
  const unwatch = watchParent(() => end({ signal: 'SIGTERM', reason: 'npm was stopped' }))
  const registry = watchRegistry(say, end, { ...usualLimits, ...limits })
  npm.stdout.on('data', (chunk) => process.stderr.write(chunk))
  readLines(npm.stderr, (line) => {
    const unwritten = /TAR_ENTRY_ERROR (.+)/.exec(line)?.[1]
    if (unwritten !== undefined) end({ reason: `a file could not be written: ${unwritten}` })
    if (/^npm http /.test(line)) registry.note(line)
    // Nothing is shown of what follows from the end, and no warning about the packages of others.
    else if (ended === null && !/^npm (?:warn|notice)\b/i.test(line)) say(line)
  })
  return new Promise((resolve) => {
    npm.on('spawn', () => onStart(npm.pid))
    npm.on('error', (error) => {
      ended ??= { reason: `npm could not be started: ${error.message}` }
    })
    // The pipes are closed when the last process of npm has ended, whichever script was in between.
    npm.on('close', (code) => {
      registry.close()
      unwatch()
      for (const [signal, handler] of handlers) process.off(signal, handler)
      resolve(ended ?? (code === 0 ? null : { reason: 'npm failed; see the lines above' }))
    })
  })
}

/** At once: what npm would take back is removed by the next `npm ci` in any case. */
function killAll(npm) {
  try {
    if (windows) npm.kill('SIGKILL')
    else process.kill(-npm.pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/** Ends an install whose every request fails, and says it when nothing has been answered yet. */
function watchRegistry(say, end, { failingLimitMs, silenceLimitMs }) {
  let failure = null
  const silence = setTimeout(() => {
    say('tributary: the package registry has not answered yet; still waiting (Ctrl-C stops)')
  }, silenceLimitMs)
  const answered = () => {
    clearTimeout(silence)
    clearTimeout(failure)
    failure = null
  }
  return {
    note(line) {
      const reason = /attempt \d+ failed with (\S+)/.exec(line)?.[1]
      if (reason === undefined) answered()
      // A registry that refuses with a status has answered.
      else if (isStatus(reason)) clearTimeout(silence)
      failure ??= reason === undefined ? null : setTimeout(stop, failingLimitMs, reason)
    },
    close: answered,
  }
  function stop(reason) {
    const what = isStatus(reason)
      ? `answers with status ${reason}`
      : `cannot be reached (${reason})`
    end({
      reason: `the package registry ${what}; see that this machine is on the network, and npm's settings registry and proxy`,
    })
  }
}

const isStatus = (reason) => /^\d{3}$/.test(reason)

function readLines(stream, take) {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop().slice(-maxLineLength)
    for (const line of lines) take(line)
  })
  stream.on('end', () => rest !== '' && take(rest))
}
