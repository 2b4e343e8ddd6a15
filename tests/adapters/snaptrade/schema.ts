/** SnapTrade's own OpenAPI file as a judge of answers. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type Judge, makeOpenApiJudge } from '../openapi-judge.ts'

const file = new URL('../../../sandbox/snaptrade/openapi/api.yaml', import.meta.url)

export function makeJudge(): Judge {
  return makeOpenApiJudge(parse(readFileSync(file, 'utf8')))
}
