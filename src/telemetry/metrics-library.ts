/**
 * The parts of prom-client that are used here. Its entry also loads the default metrics of a process with an API for traces,
 * 80 modules that nothing here uses and that a start would wait for.
 */
import { createRequire } from 'node:module'
import type * as Library from 'prom-client'

const require = createRequire(import.meta.url)

export const Counter: typeof Library.Counter = require('prom-client/lib/counter.js')
export const Gauge: typeof Library.Gauge = require('prom-client/lib/gauge.js')
export const Histogram: typeof Library.Histogram = require('prom-client/lib/histogram.js')
export const Registry: typeof Library.Registry = require('prom-client/lib/registry.js')
export type Registry = Library.Registry
