/** Up's own OpenAPI file as a judge of answers. */
import { readFileSync } from 'node:fs'
import { type Judge, makeOpenApiJudge } from '../openapi-judge.ts'

const file = new URL('./openapi/api.json', import.meta.url)

export function makeJudge(): Judge {
  return makeOpenApiJudge(JSON.parse(readFileSync(file, 'utf8')))
}
