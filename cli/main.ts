/**
 * The command `tributary` as a process: its arguments and environment go in, its exit code comes out. No
 * logic here.
 */
import { environment } from './config.ts'
import { makeOutput } from './output.ts'
import { run } from './run.ts'

// The reader may stop before the end of the output (`| head`): the rest is lost, the exit code is kept.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

let isStopped = false
process.exitCode = await run(process.argv.slice(2), {
  environment,
  workingDirectory: process.cwd(),
  input: process.stdin,
  ...makeOutput(process.stdout),
  isErrTerminal: process.stderr.isTTY === true,
  err: (text) => void process.stderr.write(text),
  untilStopped: () =>
    new Promise((resolve) => {
      const stop = () => {
        isStopped = true
        resolve()
      }
      // A terminal and the starter may both send the signal: the second one has no effect.
      process.on('SIGINT', stop)
      process.on('SIGTERM', stop)
      // The terminal was closed.
      process.on('SIGHUP', stop)
    }),
})
// A command that was stopped does not wait for what it had begun.
if (isStopped) process.exit()
