/**
 * The command `tributary` as a process: its arguments and environment go in, its exit code comes out. No logic here.
 */
import { environment } from './config.ts'
import { run } from './run.ts'

process.exitCode = await run(process.argv.slice(2), {
  environment,
  workingDirectory: process.cwd(),
  input: process.stdin,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  untilStopped: () =>
    new Promise((resolve) => {
      // A terminal and the starter may both send the signal: the second one changes nothing.
      process.on('SIGINT', () => resolve())
      process.on('SIGTERM', () => resolve())
    }),
})
