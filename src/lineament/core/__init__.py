"""What every other package stands on: models, ensembles, runs, and checks of arguments."""
