"""Tests of the harness's pure parts; `make test` runs them."""
