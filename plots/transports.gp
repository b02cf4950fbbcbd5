# What a step does beside computing, by transport, and the speed of a GPU against their number.
#
#   gnuplot -e "csv='results/transports.csv'; out='results/transports'" plots/transports.gp
#
# csv: what plots/transports.sh writes. Writes out.svg and out.png: a row for each model, on the left
# the parts of the critical path on 16 GPUs that are not compute, on the right samples/s over the number of GPUs.

set datafile separator comma
models = "tf/resnet50 tf/inception3 tf/vgg16 tf/mobilenet tf/nasnetlarge"
transports = "grpc grpc-mpi grpc-verbs baidu horovod-mvapich2 horovod-nccl horovod-mpi-opt"
parts = "overlap staging encode negotiation wire sum"

# Okabe and Ito's palette, which colour-blind readers can tell apart.
array colours[7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
of(model, gpus) = sprintf("< awk -F, '$1 == \"%s\" && $3 == %d' %s", model, gpus, csv)
line(model, transport) = sprintf("< awk -F, '$1 == \"%s\" && $2 == \"%s\"' %s", model, transport, csv)

do for [terminal in "svg png"] {
  eval sprintf("set terminal %s size 1200, 1700 enhanced", terminal eq "svg" ? "svg" : "pngcairo")
  set output sprintf("%s.%s", out, terminal)
  set multiplot layout 5, 2
  do for [m = 1 : words(models)] {
    model = word(models, m)
    set title sprintf("%s, 16 GPUs: exposed beside compute", model)
    set style data histograms
    set style histogram rowstacked
    set style fill solid noborder
    set boxwidth 0.7
    unset logscale
    set xrange [*:*]
    set yrange [0:*]
    set xtics rotate by -25 nomirror
    set ytics nomirror
    set border 3
    set grid ytics linecolor "#dddddd"
    set xlabel ""
    set ylabel "ms of a step"
    set key inside top right samplen 1
    plot for [p = 1 : words(parts)] of(model, 16) using (column(p + 5)):xticlabels(2) \
         linecolor rgb colours[p] title word(parts, p)
    set title sprintf("%s", model)
    set style data linespoints
    set logscale x 2
    set xrange [1.8 : 18]
    set yrange [*:*]
    set xtics norotate
    set xtics (2, 4, 8, 16)
    set xlabel "GPUs"
    set ylabel "samples/s a GPU"
    set key outside right center samplen 2
    plot for [t = 1 : words(transports)] line(model, word(transports, t)) using 3:($4 / $3) \
         linecolor rgb colours[t] linewidth 1.5 pointtype t title word(transports, t)
    set xtics autofreq
  }
  unset multiplot
}
