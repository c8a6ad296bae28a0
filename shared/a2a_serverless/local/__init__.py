"""The kit's embedded AWS: the synthesized template, deployed unchanged into an emulator on loopback.

Two ways in: the command `python -m a2a_serverless.local.serve` (see there for its variables) and, for tests,
`a2a_serverless.local.stack.LocalStack`. Importing this package imports nothing of the emulator.

Parts, outermost first: `stack` (a serve process for tests), `serve` (the command), `running` (serve, deploy, announce),
`assembly` (cached synth, fresh code), `deploy` (an assembly into an endpoint), `front_door` (the public port),
`engine` (ministack in this process), `patches` (where ministack differs from AWS), `worker` and `lambda_process`
(both sides of a function's process), `agents`, `account`, `ports`, `clone`, `control`.
"""
