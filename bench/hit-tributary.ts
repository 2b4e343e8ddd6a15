/** The service as it runs in production, sandbox data behind it, limits counted but out of the way. */
import { startMeasured } from './measured.ts'
import { serveChild } from './serve.ts'

const { port, key, path } = await startMeasured()
serveChild({ port, key, small: path(3), large: path(92) })
